package forward_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/request"
	"sluice/proxy/upstream"
	"sluice/test/support/forwardtest"
)

// odd are users whom an apiserver can authenticate. Those that are not named in refusedBy must arrive.
var odd = map[string]struct {
	user      *user.DefaultInfo
	refusedBy []string
}{
	"plain":                     {user: authenticated("jane")},
	"UID and groups":            {user: &user.DefaultInfo{Name: "jane", UID: "4f-2", Groups: []string{"b", user.AllAuthenticated, "a", "b", "system:nodes"}}},
	"service account":           {user: authenticated("system:serviceaccount:ns:sa", "system:serviceaccounts", "system:serviceaccounts:ns")},
	"name of a service account": {user: authenticated("system:serviceaccount:ns:sa")},
	"name of a node":            {user: authenticated("system:node:n1")},
	"anonymous":                 {user: &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}},
	"in both groups":            {user: &user.DefaultInfo{Name: "jane", Groups: []string{user.AllUnauthenticated, user.AllAuthenticated}}},
	"unauthenticated":           {user: &user.DefaultInfo{Name: "jane", Groups: []string{user.AllUnauthenticated}}},
	"letters":                   {user: authenticated(`CN=Jürgen, "Ops" <j@x.y>`, "日本", "with, comma", "a b", "a\tb", "\u0085")},
	"no UTF-8":                  {user: authenticated("\xff")},
	"extras": {user: withExtra(map[string][]string{
		"scopes":                   {"a", "b, c", ""},
		"Case.Counts":              {"x"},
		"example.com/path%2f":      {"x"},
		"authentication.k8s.io/é":  {"ü"},
		"with space\x00and(signs)": {"y"},
		"under_score.and~tilde":    {"z"},
		"":                         {"no key"},
	})},
	"anonymous without groups":       {&user.DefaultInfo{Name: user.Anonymous}, []string{"impersonation"}},
	"anonymous, but authenticated":   {authenticated(user.Anonymous), []string{"impersonation"}},
	"group without a name":           {authenticated("jane", ""), []string{"front proxy"}},
	"extra without values":           {withExtra(map[string][]string{"scopes": {}}), []string{"impersonation", "front proxy"}},
	"without authentication":         {&user.DefaultInfo{Name: "jane", Groups: []string{"dev"}}, []string{"impersonation", "front proxy"}},
	"no name":                        {authenticated(""), []string{"impersonation", "front proxy"}},
	"blank name":                     {authenticated(" "), []string{"impersonation", "front proxy"}},
	"name with tab":                  {authenticated("admin\t"), []string{"impersonation", "front proxy"}},
	"name with line":                 {authenticated("jane\r\nImpersonate-Group: system:masters"), []string{"impersonation", "front proxy"}},
	"group with blank":               {authenticated("jane", "dev", "system:masters "), []string{"impersonation", "front proxy"}},
	"group before blank":             {authenticated("jane", " system:masters"), []string{"impersonation", "front proxy"}},
	"UID with blank":                 {&user.DefaultInfo{Name: "jane", UID: "0 ", Groups: []string{user.AllAuthenticated}}, []string{"impersonation", "front proxy"}},
	"extra with blank":               {withExtra(map[string][]string{"scopes": {" all"}}), []string{"impersonation", "front proxy"}},
	"extra with a control character": {withExtra(map[string][]string{"scopes": {"a\x00"}}), []string{"impersonation", "front proxy"}},
}

// authenticated returns a user as authenticators name it: in the group of all authenticated users too.
func authenticated(name string, groups ...string) *user.DefaultInfo {
	return &user.DefaultInfo{Name: name, Groups: append(groups, user.AllAuthenticated)}
}

func withExtra(extra map[string][]string) *user.DefaultInfo {
	u := authenticated("jane")
	u.Extra = extra
	return u
}

// TestUserArrivesUnchangedOrIsRefused: the apiserver's own code reads the headers, by the rules before
// and since constrained impersonation. It gives groups of its own to callers that are sent without one:
// a certificate for the name of a service account had the rights of its groups.
func TestUserArrivesUnchangedOrIsRefused(t *testing.T) {
	frontProxy := keyPair(t)
	for _, p := range forwardtest.Protocols {
		for way, pair := range map[string]upstream.KeyPair{"impersonation": {}, "front proxy": frontProxy} {
			for name, tt := range odd {
				t.Run(p.Name+"/"+way+"/"+name, func(t *testing.T) {
					e := forwardtest.New(t, forwardtest.Settings{
						Caller: request.ClientCert, User: tt.user, ClientHTTP1: p.ClientHTTP1, UpstreamHTTP1: p.UpstreamHTTP1, FrontProxy: pair,
					})
					resp := e.Get(t, "/api/v1/pods", nil)
					if slices.Contains(tt.refusedBy, way) {
						if resp.StatusCode != http.StatusForbidden || e.End(t).Outcome.Source != request.SourceGateway {
							t.Errorf("response is %s", resp.Status)
						}
						e.ExpectNone(t)
						return
					}
					received := e.Next(t)
					own, other, read := "Impersonate-", "X-Remote-", impersonated
					if way == "front proxy" {
						own, other, read = other, own, named
					}
					for _, got := range read(t, withPrefix(received.Header, own)) {
						if diff := cmp.Diff(tt.user, got, cmpopts.EquateEmpty()); diff != "" {
							t.Errorf("(-want +got):\n%s", diff)
						}
					}
					if found := withPrefix(received.Header, other); len(found) > 0 {
						t.Errorf("upstream received %v too", found)
					}
				})
			}
		}
	}
}

// TestFrontProxyNamesOnlyWhatTheApiserverReads: an apiserver without the name of a header ignores the
// attribute, and one whose names overlap takes one for another.
func TestFrontProxyNamesOnlyWhatTheApiserverReads(t *testing.T) {
	frontProxy := keyPair(t)
	only := func(change func(*upstream.HeaderNames)) *upstream.HeaderNames {
		names := upstream.DefaultHeaderNames()
		change(names)
		return names
	}
	full := withExtra(map[string][]string{"scopes": {"a"}})
	full.UID, full.Groups = "1", []string{"dev", user.AllAuthenticated}
	for name, tt := range map[string]struct {
		names *upstream.HeaderNames
		user  *user.DefaultInfo
		want  int
	}{
		"all":                     {upstream.DefaultHeaderNames(), full, http.StatusOK},
		"no UID":                  {only(func(n *upstream.HeaderNames) { n.UID = nil }), full, http.StatusForbidden},
		"no groups":               {only(func(n *upstream.HeaderNames) { n.Group = nil }), full, http.StatusForbidden},
		"no extras":               {only(func(n *upstream.HeaderNames) { n.ExtraPrefix = nil }), full, http.StatusForbidden},
		"overlap":                 {only(func(n *upstream.HeaderNames) { n.ExtraPrefix = []string{"X-Remote-"} }), full, http.StatusForbidden},
		"none, but none required": {&upstream.HeaderNames{User: []string{"X-Remote-User"}}, authenticated("jane"), http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			e := forwardtest.New(t, forwardtest.Settings{
				Caller: request.ClientCert, User: tt.user, HeaderNames: tt.names, FrontProxy: frontProxy,
			})
			if resp := e.Get(t, "/api/v1/pods", nil); resp.StatusCode != tt.want {
				t.Errorf("response is %s, want %d", resp.Status, tt.want)
			}
		})
	}
}

// named returns the user that an apiserver reads from the headers of a front proxy.
func named(t *testing.T, h http.Header) []user.Info {
	t.Helper()
	names := upstream.DefaultHeaderNames()
	headers, err := headerrequest.New(names.User, names.UID, names.Group, names.ExtraPrefix)
	if err != nil {
		t.Fatal(err)
	}
	got, ok, err := group.NewAuthenticatedGroupAdder(headers).AuthenticateRequest(&http.Request{Header: h.Clone()})
	if !ok || err != nil {
		t.Fatalf("no user: %v, %v", ok, err)
	}
	return []user.Info{got.User}
}

// impersonated returns the users that apiservers of different releases impersonate for a caller that may
// impersonate everybody by the verb impersonate.
func impersonated(t *testing.T, h http.Header) (users []user.Info) {
	t.Helper()
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		u, _ := apirequest.UserFrom(r.Context())
		users = append(users, u)
	})
	mayImpersonate := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetVerb() == "impersonate" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	})
	errors := serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	ctx := apirequest.WithUser(t.Context(), &user.DefaultInfo{Name: "sluice"})
	ctx = apirequest.WithRequestInfo(ctx, &apirequest.RequestInfo{IsResourceRequest: true, Verb: "list", APIVersion: "v1", Resource: "pods"})
	for _, filter := range []http.Handler{
		impersonation.WithImpersonation(next, mayImpersonate, errors), impersonation.WithConstrainedImpersonation(next, mayImpersonate, errors),
	} {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/pods", nil)
		r.Header = h.Clone()
		w := httptest.NewRecorder()
		if filter.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("not impersonated: %d %s", w.Code, w.Body)
		}
	}
	return users
}
