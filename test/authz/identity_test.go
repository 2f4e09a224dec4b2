package authz

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"sluice/proxy/message"
	"sluice/test/harness"
)

// The ways in which Sluice names a caller that it has authenticated to the apiserver.
const (
	byImpersonation = "impersonation"
	byHeaders       = "front proxy"
)

var (
	neither = []string{byImpersonation, byHeaders}
	// x509UID is the attribute of a subject that becomes the UID of its user.
	x509UID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}
)

// identity is a caller with odd attributes.
type identity struct {
	caller
	refusedBy []string // the ways in which the apiserver cannot be told exactly this caller
}

// subjects are the subjects of client certificates.
var subjects = map[string]struct {
	subject   pkix.Name
	refusedBy []string
}{
	"name":                              {subject: pkix.Name{CommonName: "jane"}},
	"groups":                            {subject: organized("jane", "b", "a", "b")},
	"system:masters":                    {subject: organized("jane", "system:masters")},
	"authenticated before others":       {subject: organized("jane", "system:authenticated", "dev")},
	"unauthenticated":                   {subject: organized("jane", "system:unauthenticated")},
	"letters":                           {subject: organized(`Jürgen, "Ops" <j@x.y>`, "日本", "a\tb", "\u0085")},
	"service account":                   {subject: pkix.Name{CommonName: "system:serviceaccount:b:sa"}},
	"service account with a group":      {subject: organized("system:serviceaccount:b:sa", "dev")},
	"service account with its groups":   {subject: organized("system:serviceaccount:b:sa", "system:serviceaccounts", "system:serviceaccounts:b")},
	"node":                              {subject: pkix.Name{CommonName: "system:node:n1"}},
	"node with its group":               {subject: organized("system:node:n1", "system:nodes")},
	"anonymous":                         {pkix.Name{CommonName: "system:anonymous"}, []string{byImpersonation}},
	"anonymous, authenticated":          {organized("system:anonymous", "system:authenticated"), []string{byImpersonation}},
	"anonymous, unauthenticated":        {subject: organized("system:anonymous", "system:unauthenticated")},
	"UID":                               {subject: withUID("jane", "0-A")},
	"UID before white space":            {withUID("jane", "0 "), neither},
	"group without a name":              {organized("jane", ""), []string{byHeaders}},
	"name before white space":           {pkix.Name{CommonName: "admin "}, neither},
	"name with a line break":            {pkix.Name{CommonName: "jane\r\nImpersonate-Group: system:masters"}, neither},
	"system:masters before white space": {organized("jane", "system:masters "), neither},
	"no name":                           {subject: organized("", "dev")},
}

func organized(name string, groups ...string) pkix.Name {
	return pkix.Name{CommonName: name, Organization: groups}
}

func withUID(name, uid string) pkix.Name {
	return pkix.Name{CommonName: name, ExtraNames: []pkix.AttributeTypeAndValue{{Type: x509UID, Value: uid}}}
}

// attributes are headers of a front proxy after X-Remote-, or of impersonation after Impersonate-.
var attributes = map[string]struct {
	header    http.Header
	refusedBy []string // as the headers of a front proxy
}{
	"name":                        {header: http.Header{"User": {"jane"}}},
	"groups":                      {header: http.Header{"User": {"jane"}, "Group": {"b", "a", "b"}}},
	"authenticated before others": {header: http.Header{"User": {"jane"}, "Group": {"system:authenticated", "dev"}}},
	"letters":                     {header: http.Header{"User": {`Jürgen, "Ops" <j@x.y>`}, "Group": {"日本", "a\tb", "\u0085"}}},
	"no UTF-8":                    {header: http.Header{"User": {"\xff"}, "Group": {"\xc3("}}},
	"service account":             {header: http.Header{"User": {"system:serviceaccount:b:sa"}}},
	"node":                        {header: http.Header{"User": {"system:node:n1"}}},
	"anonymous":                   {http.Header{"User": {"system:anonymous"}}, []string{byImpersonation}},
	"anonymous, authenticated":    {http.Header{"User": {"system:anonymous"}, "Group": {"system:authenticated"}}, []string{byImpersonation}},
	"anonymous, unauthenticated":  {header: http.Header{"User": {"system:anonymous"}, "Group": {"system:unauthenticated"}}},
	"UID":                         {header: http.Header{"User": {"jane"}, "Uid": {"0-A"}}},
	"group without a name":        {header: http.Header{"User": {"jane"}, "Group": {""}}},
	"extras": {header: http.Header{
		"User": {"jane"}, "Extra-Scopes": {"a", "b, c", ""}, "Extra-%43ase.Counts": {"x"}, "Extra-Example.com%2fpath%252f": {"x"},
		"Extra-%C3%A9%00%20": {"ü"}, "Extra-Malformed%zz": {"y"},
	}},
	"extra without a key": {header: http.Header{"User": {"jane"}, "Extra-": {"x"}}},
	"no user":             {header: http.Header{"Group": {"dev"}}},
}

// identities returns every way to authenticate with every odd attribute that it can have.
func identities(t *testing.T) (all []identity) {
	for name, s := range subjects {
		all = append(all, identity{caller{name: "certificate/" + name, as: harness.Anonymous, config: withCertificate(t, s.subject)}, s.refusedBy})
	}
	for name, a := range attributes {
		remote, impersonate := http.Header{}, http.Header{}
		// The apiserver tries the mode of impersonation first that its caller has last used, and modes differ in the groups of
		// a node.
		impersonator := organized("impersonator of "+name, "system:masters")
		for attribute, values := range a.header {
			remote["X-Remote-"+attribute], impersonate["Impersonate-"+attribute] = values, values
		}
		// The apiserver names the groups of an impersonated user itself, so that it can be named by each way. But
		// only impersonation itself knows groups without a name.
		var refusedBy []string
		if name == "group without a name" {
			refusedBy = []string{byHeaders}
		}
		all = append(all,
			identity{caller{name: "front proxy/" + name, as: harness.Anonymous, config: byFrontProxy, header: remote}, a.refusedBy},
			identity{caller{
				name: "impersonating certificate/" + name, as: harness.Anonymous, config: withCertificate(t, impersonator), header: impersonate,
			}, refusedBy},
			identity{caller{name: "impersonating token/" + name, as: "admin", header: impersonate}, nil})
	}
	for _, c := range callers(t) {
		all = append(all, identity{caller: c})
	}
	return all
}

// TestCallersAreTheSameBehindSluice: the apiserver answers a request as the user that it would have
// authenticated itself, whichever way Sluice names the caller, or the request is refused. A certificate
// for the name of a service account had the rights of its groups when it was sent without a group, and
// so could read what they may read.
func TestCallersAreTheSameBehindSluice(t *testing.T) {
	t.Parallel()
	pair := filepath.Join(apiserver.Dir, frontProxy)
	ca := filepath.Join(apiserver.Dir, "front-proxy-ca.crt")
	ways := map[string]*harness.Sluice{byImpersonation: sluice, byHeaders: apiserver.StartSluice(t, harness.SluiceOptions{Config: fmt.Sprintf(`
apiVersion: sluice/v1alpha1
kind: Configuration
upstream: {frontProxy: {certFile: %s.crt, keyFile: %s.key}}
authentication:
  anonymous: true
  frontProxy: {clientCAFile: %s, names: [%s]}
`, pair, pair, ca, frontProxy)})}
	requests := []harness.Request{
		{
			Method: http.MethodPost, Path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", Header: http.Header{"Content-Type": {"application/json"}},
			Body: []byte(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`),
		},
		{Path: "/api/v1/namespaces/a/pods/p"},
		{Path: "/api/v1/namespaces/a/pods?resourceVersion=0"},
	}
	for _, s := range ways {
		s.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
		s.Raw("nobody-cert").AwaitStatus(t, http.StatusOK, harness.Request{Path: "/version"}) // the names of headers are known
	}
	for _, c := range identities(t) {
		direct := c.client(t, apiserver.RESTConfig(c.as))
		for way, s := range ways {
			t.Run(way+"/"+c.name, func(t *testing.T) {
				through := c.client(t, s.RESTConfig(c.as))
				for i, q := range requests {
					q.Header = merged(q.Header, c.header)
					want, got := whoAmI(t, direct, q), whoAmI(t, through, q)
					cached := i == len(requests)-1 // it is reviewed, and refused only if it has to pass
					if slices.Contains(c.refusedBy, way) && (!cached || got.code == http.StatusForbidden) {
						want = answer{code: http.StatusForbidden, body: "the gateway cannot name the caller to the apiserver"}
						got.body, _, _ = strings.Cut(strings.TrimPrefix(got.body, message.Prefix), ":")
					}
					if diff := cmp.Diff(want.visible(), got.visible()); diff != "" {
						t.Errorf("%s (-apiserver +sluice):\n%s", q.Path, diff)
					}
				}
			})
		}
	}
}

// whoAmI sends a request and returns the user that the response names, or the message of its Status.
func whoAmI(t *testing.T, from *harness.RawClient, q harness.Request) answer {
	t.Helper()
	resp := from.MustDo(t, q)
	a := answer{code: resp.Status, source: resp.Header.Get("Sluice-Source")}
	var refusal struct{ Message string }
	err := json.Unmarshal(resp.Body, &refusal)
	a.body = refusal.Message
	if resp.Status == http.StatusCreated {
		var self authenticationv1.SelfSubjectReview
		err = json.Unmarshal(resp.Body, &self)
		a.body = fmt.Sprintf("%q", self.Status.UserInfo)
	}
	if err != nil {
		t.Fatalf("%s: %v", resp.Body, err)
	}
	return a
}

// withCertificate authenticates by a new client certificate.
func withCertificate(t *testing.T, subject pkix.Name) func(*rest.Config) {
	t.Helper()
	cert, key, err := apiserver.ClientCertificate(subject)
	if err != nil {
		t.Fatal(err)
	}
	return func(cfg *rest.Config) { cfg.BearerToken, cfg.CertData, cfg.KeyData = "", cert, key }
}
