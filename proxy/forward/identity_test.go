package forward_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"sluice/proxy/certs"
	"sluice/proxy/request"
	"sluice/proxy/upstream"
	"sluice/test/support/forwardtest"
)

var jane = &user.DefaultInfo{Name: "jane", Groups: []string{"dev", user.AllAuthenticated}}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

var toWebSocket = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}

func merge(headers ...http.Header) http.Header {
	all := http.Header{}
	for _, h := range headers {
		maps.Copy(all, h)
	}
	return all
}

// TestOwnCredentialsDoNotPass with requests that carry the client's credentials or none, however
// Sluice authenticates itself.
func TestOwnCredentialsDoNotPass(t *testing.T) {
	own := keyPair(t)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(forwardtest.OwnToken), 0o600); err != nil {
		t.Fatal(err)
	}
	credentials := map[string]func(*rest.Config){
		"token":       func(*rest.Config) {},
		"token file":  func(c *rest.Config) { c.BearerToken, c.BearerTokenFile = "", tokenFile },
		"password":    func(c *rest.Config) { c.BearerToken, c.Username, c.Password = "", "sluice", forwardtest.OwnToken },
		"certificate": func(c *rest.Config) { c.BearerToken, c.CertFile, c.KeyFile = "", own.CertFile, own.KeyFile },
		"impersonation": func(c *rest.Config) {
			c.Impersonate = rest.ImpersonationConfig{UserName: "sluice", Groups: []string{"system:masters"}}
		},
	}
	callers := []struct {
		name   string
		caller request.Caller
		header http.Header
	}{
		{"authenticated", request.BearerToken, bearer("a-client's")},
		{"unknown token", request.Unauthenticated, bearer("unknown")},
		{"anonymous", request.Unauthenticated, nil},
		{"authenticated upgrade", request.BearerToken, merge(bearer("a-client's"), toWebSocket)},
		{"anonymous upgrade", request.Unauthenticated, toWebSocket},
	}
	for name, config := range credentials {
		for _, tt := range callers {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: tt.caller, ClientHTTP1: true, Config: config})
				e.Get(t, "/api/v1/pods", tt.header)
				got := e.Next(t)
				if diff := cmp.Diff(tt.header["Authorization"], got.Header["Authorization"]); diff != "" {
					t.Errorf("Authorization (-sent +got):\n%s", diff)
				}
				if got.Certificate != "" {
					t.Errorf("upstream received the certificate of %q", got.Certificate)
				}
				if found := withPrefix(got.Header, "Impersonate-", "X-Remote-"); len(found) > 0 {
					t.Errorf("upstream received %v", found)
				}
				for name, values := range got.Header {
					if strings.Contains(strings.Join(values, " "), forwardtest.OwnToken) {
						t.Errorf("upstream received the token of Sluice in %s", name)
					}
				}
			})
		}
	}
}

// TestAnonymousRequestsUseHTTP1: the apiserver closes a connection after a 401, and with HTTP/2 all requests on it. What is
// sent counts: a caller that was authenticated may have lost its token.
func TestAnonymousRequestsUseHTTP1(t *testing.T) {
	for _, tt := range []struct {
		caller request.Caller
		header http.Header
		proto  string
	}{
		{request.BearerToken, bearer("a-client's"), "HTTP/2.0"},
		{request.BearerToken, merge(bearer("a-client's"), http.Header{"Connection": {"Authorization"}}), "HTTP/1.1"},
		{request.ClientCert, nil, "HTTP/2.0"},
		{request.Unauthenticated, bearer("a-client's"), "HTTP/1.1"},
	} {
		e := forwardtest.New(t, forwardtest.Settings{Caller: tt.caller, User: jane, ClientHTTP1: true})
		e.Get(t, "/api/v1/pods", tt.header)
		if got := e.Next(t); got.Proto != tt.proto || tt.header["Connection"] != nil && got.Header.Get("Authorization") != "" {
			t.Errorf("caller %v with %v used %s with %v", tt.caller, tt.header, got.Proto, got.Header)
		}
	}
}

// forged are headers that name a user, in spellings that a client may send.
var forged = http.Header{
	"X-Remote-User":                  {"admin"},
	"x-remote-group":                 {"system:masters", "dev"},
	"X-REMOTE-UID":                   {"0"},
	"x-reMote-eXtra-Scopes":          {"all"},
	"X-Remote-Extra-A%2fb":           {"all"},
	"X-Remote-Anything":              {"all"},
	"impersonate-user":               {"admin"},
	"Impersonate-Group":              {"system:masters", "dev"},
	"IMPERSONATE-UID":                {"0"},
	"impersonate-Extra-scopes":       {"all"},
	"Impersonate-Extra-Example.com%": {"all"},
}

// TestForgedIdentityDoesNotPass: impersonation passes with the credentials of the client, since the
// apiserver authorizes it. For clients with a certificate Sluice has authorized it before.
func TestForgedIdentityDoesNotPass(t *testing.T) {
	for _, p := range forwardtest.Protocols {
		for caller, name := range map[request.Caller]string{
			request.Unauthenticated: "anonymous", request.BearerToken: "token", request.ClientCert: "certificate",
		} {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: caller, User: jane, ClientHTTP1: p.ClientHTTP1, UpstreamHTTP1: p.UpstreamHTTP1})
				e.Get(t, "/api/v1/pods", merge(forged, bearer("a-client's")))
				got := e.Next(t)
				if found := withPrefix(got.Header, "X-Remote-"); len(found) > 0 {
					t.Errorf("upstream received %v", found)
				}
				want := http.Header{
					"Impersonate-User": {"admin"}, "Impersonate-Group": {"system:masters", "dev"}, "Impersonate-Uid": {"0"},
					"Impersonate-Extra-Scopes": {"all"}, "Impersonate-Extra-Example.com%": {"all"},
				}
				want.Set("Authorization", "Bearer a-client's")
				if caller == request.ClientCert {
					want = http.Header{
						"Authorization": {"Bearer " + forwardtest.OwnToken}, "Impersonate-User": {"jane"}, "Impersonate-Group": {"dev", user.AllAuthenticated},
					}
				}
				if diff := cmp.Diff(want, withPrefix(got.Header, "Impersonate-", "Authorization")); diff != "" {
					t.Errorf("identity (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestConfiguredNamesOfFrontProxyHeaders: k/k#119631 (NCC-E003660-YVU). The apiserver takes the groups of all headers that it is
// configured with, whatever their names, so copies of the client must not pass in any of them.
func TestConfiguredNamesOfFrontProxyHeaders(t *testing.T) {
	own := &upstream.HeaderNames{
		User: []string{"X-My-User", "X-Remote-User"}, UID: []string{"X-My-Uid"}, Group: []string{"x-my-group", "X-Remote-Group"},
		ExtraPrefix: []string{"X-My-Extra-"},
	}
	forwarding := &upstream.HeaderNames{
		User: []string{"Forwarded"}, UID: []string{"x-forwarded-for"}, Group: []string{"X-Forwarded-Proto"}, ExtraPrefix: []string{"X-Forwarded-H"},
	}
	sent := merge(forged, http.Header{
		"x-my-user": {"admin"}, "X-MY-GROUP": {"system:masters"}, "X-My-Uid": {"0"}, "X-my-eXtra-Scopes": {"all"},
		"Forwarded": {"admin"}, "X-Forwarded-For": {"0"}, "X-Forwarded-Proto": {"system:masters"}, "X-Forwarded-Host": {"all"},
	})
	for _, row := range []struct {
		names  *upstream.HeaderNames
		caller request.Caller
		want   http.Header
	}{
		{own, request.BearerToken, http.Header{}},
		{own, request.Unauthenticated, http.Header{}},
		{own, request.ClientCert, http.Header{"X-My-User": {"jane"}, "X-My-Group": {"dev", user.AllAuthenticated}}},
		{forwarding, request.BearerToken, http.Header{}},
		{forwarding, request.Unauthenticated, http.Header{}},
	} {
		prefixes := []string{"X-My-", "X-Remote-"}
		if row.names == forwarding {
			prefixes = []string{"Forwarded", "X-Forwarded-"}
		}
		e := forwardtest.New(t, forwardtest.Settings{Caller: row.caller, User: jane, HeaderNames: row.names, FrontProxy: keyPair(t)})
		e.Get(t, "/api/v1/pods", sent)
		if diff := cmp.Diff(row.want, withPrefix(e.Next(t).Header, prefixes...)); diff != "" {
			t.Errorf("caller %v, users in %s (-want +got):\n%s", row.caller, row.names.User, diff)
		}
	}
}

// TestRejectedTokenIsReported: so that what is remembered of the token is forgotten.
func TestRejectedTokenIsReported(t *testing.T) {
	for caller, want := range map[request.Caller]int{request.BearerToken: 1, request.Unauthenticated: 0, request.ClientCert: 0} {
		var rejected []string
		e := forwardtest.New(t, forwardtest.Settings{
			Caller: caller, User: jane, Rejected: func(r *http.Request) { rejected = append(rejected, r.Header.Get("Authorization")) },
			Handler: func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/revoked" {
					w.WriteHeader(http.StatusUnauthorized)
				}
			},
		})
		e.Get(t, "/api", bearer("good"))
		e.Get(t, "/revoked", bearer("revoked"))
		if len(rejected) != want || want == 1 && rejected[0] != "Bearer revoked" {
			t.Errorf("caller %v: %q", caller, rejected)
		}
	}
}

// TestConnectionHeaderRemovesNoIdentity: CVE-2021-31999 and CVE-2022-23652. A proxy removes the
// headers that Connection names.
func TestConnectionHeaderRemovesNoIdentity(t *testing.T) {
	connection := []string{
		"Impersonate-User, impersonate-group", "AUTHORIZATION,X-Remote-User", " x-remote-group ,Impersonate-Uid,keep-alive", "Upgrade",
	}
	for way, row := range map[string]struct {
		pair upstream.KeyPair
		want http.Header
	}{
		"impersonation": {want: http.Header{
			"Authorization": {"Bearer " + forwardtest.OwnToken}, "Impersonate-User": {"jane"}, "Impersonate-Group": {"dev", user.AllAuthenticated},
		}},
		"front proxy": {keyPair(t), http.Header{"X-Remote-User": {"jane"}, "X-Remote-Group": {"dev", user.AllAuthenticated}}},
	} {
		for name, upgrade := range map[string]http.Header{"plain": nil, "upgrade": {"Upgrade": {"SPDY/3.1"}}} {
			t.Run(name+"/"+way, func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: request.ClientCert, User: jane, ClientHTTP1: true, FrontProxy: row.pair})
				e.Get(t, "/api/v1/pods", merge(upgrade, forged, bearer("a-client's"), http.Header{"Connection": connection}))
				got := e.Next(t)
				identity := withPrefix(got.Header, "Authorization", "Impersonate-", "X-Remote-")
				if diff := cmp.Diff(row.want, identity); diff != "" || (got.Certificate == certificateName) != (way == "front proxy") {
					t.Errorf("identity, with the certificate of %q (-want +got):\n%s", got.Certificate, diff)
				}
			})
		}
	}
}

// certificateName is the common name of the certificates of keyPair.
const certificateName = "sluice"

// keyPair writes a certificate and its key.
func keyPair(t *testing.T) upstream.KeyPair {
	t.Helper()
	files, err := certs.Ensure(t.TempDir(), []string{"x"})
	if err != nil {
		t.Fatal(err)
	}
	return upstream.KeyPair{CertFile: files.Cert, KeyFile: files.Key}
}
