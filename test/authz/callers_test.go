package authz

import (
	"net/http"
	"path/filepath"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// frontProxy is the name of the front proxy in the control plane, and of its key pair.
const frontProxy = "front-proxy-client"

// caller is a user and a way to authenticate.
type caller struct {
	name   string
	known  bool               // the credentials are valid, so that allowed reads are served from the cache
	config func(*rest.Config) // changes the configuration of user as
	as     string             // a user of the harness
	header http.Header
}

// clients returns clients of the apiserver and of Sluice that authenticate as the caller.
func (c *caller) clients(t *testing.T) (direct, through *harness.RawClient) {
	return c.client(t, apiserver.RESTConfig(c.as)), c.client(t, sluice.RESTConfig(c.as))
}

// client returns a client that authenticates as the caller.
func (c *caller) client(t *testing.T, cfg *rest.Config) *harness.RawClient {
	t.Helper()
	if c.config != nil {
		c.config(cfg)
	}
	return harness.RawClientFor(t, cfg)
}

// impersonating returns the headers by which a caller acts for a user.
func impersonating(name string, groups ...string) http.Header {
	return http.Header{"Impersonate-User": {name}, "Impersonate-Group": groups}
}

// remote returns the headers by which the front proxy names a user.
func remote(name string, groups ...string) http.Header {
	return http.Header{"X-Remote-User": {name}, "X-Remote-Group": groups}
}

func byFrontProxy(cfg *rest.Config) {
	cfg.BearerToken = ""
	cfg.CertFile = filepath.Join(apiserver.Dir, frontProxy+".crt")
	cfg.KeyFile = filepath.Join(apiserver.Dir, frontProxy+".key")
}

// withToken authenticates by a token.
func withToken(token string) func(*rest.Config) {
	return func(cfg *rest.Config) { cfg.BearerToken = token }
}

// accountToken returns a token of a service account.
func accountToken(t *testing.T, namespace, name string, audiences ...string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	got, err := apiserver.Client("admin").CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got.Status.Token
}

// callers returns every way to authenticate, with different rights.
func callers(t *testing.T) []caller {
	all := []caller{
		{name: "token", known: true, as: "reader"},
		{name: "token without rights", known: true, as: "nobody"},
		{name: "token of an administrator", known: true, as: "admin"},
		{name: "certificate", known: true, as: "reader-cert"},
		{name: "certificate without rights", known: true, as: "nobody-cert"},
		{name: "anonymous", known: true, as: harness.Anonymous},
		{name: "anonymous with headers of a front proxy", known: true, as: harness.Anonymous, header: remote("by-cluster")},
		{name: "rejected token", as: "reader", config: withToken("x")},
		{name: "service account", known: true, as: "reader", config: withToken(accountToken(t, "a", "sa"))},
		{name: "service account by group", known: true, as: "reader", config: withToken(accountToken(t, "b", "sa"))},
		{name: "service account for another audience", as: "reader", config: withToken(accountToken(t, "b", "sa", "elsewhere"))},
		{name: "front proxy", known: true, as: harness.Anonymous, config: byFrontProxy, header: remote("by-namespace")},
		{name: "front proxy, group", known: true, as: harness.Anonymous, config: byFrontProxy, header: remote("x", "by-group")},
		{name: "front proxy without a user", as: harness.Anonymous, config: byFrontProxy},
		{name: "certificate with headers of a front proxy", known: true, as: "nobody-cert", header: remote("by-cluster")},
		{name: "token that may impersonate", known: true, as: "reader", header: impersonating("by-namespace")},
		{name: "token that may not impersonate", known: true, as: "reader", header: impersonating("by-cluster")},
		{name: "certificate that may impersonate", known: true, as: "reader-cert", header: impersonating("by-namespace")},
		{name: "certificate that may not impersonate", known: true, as: "reader-cert", header: impersonating("by-namespace", "by-group")},
		{name: "anonymous that may not impersonate", known: true, as: harness.Anonymous, header: impersonating("by-namespace")},
		{name: "impersonated group without user", known: true, as: "admin", header: http.Header{"Impersonate-Group": {"by-group"}}},
	}
	for name, groups := range map[string][]string{
		"by-name": nil, "by-cluster": nil, "by-aggregation": nil, "x": {"by-group"}, "system:node:n1": {"system:nodes"}, "system:serviceaccount:a:sa": nil,
	} {
		all = append(all,
			caller{name: "token impersonates " + name, known: true, as: "admin", header: impersonating(name, groups...)},
			caller{name: "certificate impersonates " + name, known: true, as: "admin-cert", header: impersonating(name, groups...)})
	}
	return all
}
