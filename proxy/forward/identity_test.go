package forward_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"sluice/proxy/forward/forwardtest"
	"sluice/proxy/request"
	"sluice/proxy/upstream"
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

// Whatever Sluice identifies itself by, requests that carry their callers' own
// credentials, or none, carry nothing of Sluice.
func TestOwnCredentialsStayHome(t *testing.T) {
	certFile, keyFile := keyPair(t, "sluice")
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(forwardtest.OwnToken), 0o600); err != nil {
		t.Fatal(err)
	}
	credentials := map[string]func(*rest.Config){
		"token":       func(*rest.Config) {},
		"token file":  func(c *rest.Config) { c.BearerToken, c.BearerTokenFile = "", tokenFile },
		"password":    func(c *rest.Config) { c.BearerToken, c.Username, c.Password = "", "sluice", forwardtest.OwnToken },
		"certificate": func(c *rest.Config) { c.BearerToken, c.CertFile, c.KeyFile = "", certFile, keyFile },
		"impersonation": func(c *rest.Config) {
			c.Impersonate = rest.ImpersonationConfig{UserName: "sluice", Groups: []string{"system:masters"}}
		},
	}
	callers := []struct {
		name   string
		caller request.Caller
		header http.Header
	}{
		{"caller", request.BearerToken, bearer("a-caller's")},
		{"stranger with a token", request.Unauthenticated, bearer("nobody-knows")},
		{"stranger without", request.Unauthenticated, nil},
		{"caller who upgrades", request.BearerToken, merge(bearer("a-caller's"), toWebSocket)},
		{"stranger who upgrades", request.Unauthenticated, toWebSocket},
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
					t.Errorf("came with the certificate of %q", got.Certificate)
				}
				if named := withPrefix(got.Header, "Impersonate-", "X-Remote-"); len(named) > 0 {
					t.Errorf("came with %v", named)
				}
				for name, values := range got.Header {
					if strings.Contains(strings.Join(values, " "), forwardtest.OwnToken) {
						t.Errorf("Sluice's token came in %s", name)
					}
				}
			})
		}
	}
}

// The apiserver closes the connection on which it sees a 401: that of somebody
// else must not be hit.
func TestStrangersShareNoStreams(t *testing.T) {
	tests := []struct {
		caller request.Caller
		proto  string
	}{
		{request.BearerToken, "HTTP/2.0"},
		{request.ClientCert, "HTTP/2.0"},
		{request.Unauthenticated, "HTTP/1.1"},
	}
	for _, tt := range tests {
		e := forwardtest.New(t, forwardtest.Settings{Caller: tt.caller, User: jane})
		e.Get(t, "/api/v1/pods", nil)
		if got := e.Next(t); got.Proto != tt.proto {
			t.Errorf("caller of kind %d came by %s, want %s", tt.caller, got.Proto, tt.proto)
		}
	}
}

// forged are the headers by which somebody could pretend to be somebody else,
// in spellings that a client may send.
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

func TestForgedIdentityDoesNotPass(t *testing.T) {
	for _, side := range forwardtest.Protocols {
		for caller, name := range map[request.Caller]string{
			request.Unauthenticated: "stranger", request.BearerToken: "caller", request.ClientCert: "asserted",
		} {
			t.Run(side.Name+"/"+name, func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: caller, User: jane, ClientHTTP1: side.ClientHTTP1, UpstreamHTTP1: side.UpstreamHTTP1})
				e.Get(t, "/api/v1/pods", merge(forged, bearer("the-sender's")))
				got := e.Next(t)
				if remote := withPrefix(got.Header, "X-Remote-"); len(remote) > 0 {
					t.Errorf("came with %v", remote)
				}
				// The upstream decides whether those who show it their own
				// credentials may impersonate. Others have been checked here.
				want := http.Header{
					"Impersonate-User": {"admin"}, "Impersonate-Group": {"system:masters", "dev"}, "Impersonate-Uid": {"0"},
					"Impersonate-Extra-Scopes": {"all"}, "Impersonate-Extra-Example.com%": {"all"},
				}
				want.Set("Authorization", "Bearer the-sender's")
				if caller == request.ClientCert {
					want = http.Header{
						"Authorization": {"Bearer " + forwardtest.OwnToken}, "Impersonate-User": {"jane"}, "Impersonate-Group": {"dev"},
					}
				}
				if diff := cmp.Diff(want, withPrefix(got.Header, "Impersonate-", "Authorization")); diff != "" {
					t.Errorf("identity (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// CVE-2021-31999, CVE-2022-23652: a Connection header takes away the headers
// that it names, those that tell the identity among them.
func TestConnectionNamesNoIdentityAway(t *testing.T) {
	certFile, keyFile := keyPair(t, "front-proxy")
	connection := []string{
		"Impersonate-User, impersonate-group", "AUTHORIZATION,X-Remote-User", " x-remote-group ,Impersonate-Uid,keep-alive", "Upgrade",
	}
	for name, upgrade := range map[string]http.Header{"plain": nil, "upgrade": {"Upgrade": {"SPDY/3.1"}}} {
		header := merge(upgrade, forged, bearer("a-caller's"), http.Header{"Connection": connection})
		t.Run(name+"/impersonation", func(t *testing.T) {
			e := forwardtest.New(t, forwardtest.Settings{Caller: request.ClientCert, User: jane, ClientHTTP1: true})
			e.Get(t, "/api/v1/pods", header)
			want := http.Header{
				"Authorization": {"Bearer " + forwardtest.OwnToken}, "Impersonate-User": {"jane"}, "Impersonate-Group": {"dev"},
			}
			got := withPrefix(e.Next(t).Header, "Authorization", "Impersonate-", "X-Remote-")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("identity (-want +got):\n%s", diff)
			}
		})
		t.Run(name+"/front proxy", func(t *testing.T) {
			e := forwardtest.New(t, forwardtest.Settings{
				Caller: request.ClientCert, User: jane, ClientHTTP1: true, FrontProxy: upstream.KeyPair{CertFile: certFile, KeyFile: keyFile},
			})
			e.Get(t, "/api/v1/pods", header)
			want := http.Header{"X-Remote-User": {"jane"}, "X-Remote-Group": {"dev"}}
			got := e.Next(t)
			identity := withPrefix(got.Header, "Authorization", "Impersonate-", "X-Remote-")
			if diff := cmp.Diff(want, identity); diff != "" || got.Certificate != "front-proxy" {
				t.Errorf("identity, with the certificate of %q (-want +got):\n%s", got.Certificate, diff)
			}
		})
	}
}

// What Sluice says about a caller must be what the apiserver understands. Its
// own code reads the headers here.
func TestAssertedCallerArrivesWhole(t *testing.T) {
	certFile, keyFile := keyPair(t, "front-proxy")
	users := []*user.DefaultInfo{
		{Name: "jane"},
		{Name: "jane", Groups: []string{user.AllAuthenticated}},
		{Name: "jane", UID: "4f-2", Groups: []string{"b", user.AllAuthenticated, "a", "system:nodes"}},
		{Name: "system:serviceaccount:ns:sa", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns"}},
		{Name: `CN=Jürgen, "Ops" <j@x.y>`, Groups: []string{"日本", "with, comma", "a b"}},
		{Name: "jane", Extra: map[string][]string{
			"scopes":                   {"a", "b, c", ""},
			"Case.Counts":              {"x"},
			"example.com/path%2f":      {"x"},
			"authentication.k8s.io/é":  {"ü"},
			"with space\x00and(signs)": {"y"},
			"under_score.and~tilde":    {"z"},
		}},
	}
	for _, side := range forwardtest.Protocols {
		for name, pair := range map[string]upstream.KeyPair{"impersonation": {}, "front proxy": {CertFile: certFile, KeyFile: keyFile}} {
			prefix, other := "Impersonate-", "X-Remote-"
			if pair.CertFile != "" {
				prefix, other = other, prefix
			}
			for _, who := range users {
				t.Run(side.Name+"/"+name+"/"+who.Name, func(t *testing.T) {
					e := forwardtest.New(t, forwardtest.Settings{
						Caller: request.ClientCert, User: who, ClientHTTP1: side.ClientHTTP1, UpstreamHTTP1: side.UpstreamHTTP1, FrontProxy: pair,
					})
					e.Get(t, "/api/v1/pods", nil)
					got := e.Next(t)
					want := *who
					want.Groups = slices.DeleteFunc(slices.Clone(who.Groups), func(g string) bool { return g == user.AllAuthenticated })
					if diff := cmp.Diff(&want, understood(t, got.Header, prefix), cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
					if rest := withPrefix(got.Header, other); len(rest) > 0 {
						t.Errorf("came with %v too", rest)
					}
				})
			}
		}
	}
}

// understood reads a caller's headers as the apiserver does.
func understood(t *testing.T, h http.Header, prefix string) *user.DefaultInfo {
	t.Helper()
	a, err := headerrequest.New([]string{prefix + "User"}, []string{prefix + "Uid"}, []string{prefix + "Group"}, []string{prefix + "Extra-"})
	if err != nil {
		t.Fatal(err)
	}
	resp, ok, err := a.AuthenticateRequest(&http.Request{Header: h.Clone()})
	if !ok || err != nil {
		t.Fatalf("not understood: %v, %v", ok, err)
	}
	return resp.User.(*user.DefaultInfo)
}

// Header fields lose the white space around them. Somebody whose name is a
// blank must not become nobody, which is Sluice itself, and a member of
// "system:masters " no member of system:masters.
func TestIdentityThatDoesNotFitIsRefused(t *testing.T) {
	certFile, keyFile := keyPair(t, "front-proxy")
	users := map[string]*user.DefaultInfo{
		"no name":             {},
		"blank name":          {Name: " "},
		"name with tab":       {Name: "admin\t"},
		"name with line":      {Name: "jane\r\nImpersonate-Group: system:masters"},
		"group with blank":    {Name: "jane", Groups: []string{"dev", "system:masters "}},
		"group before blank":  {Name: "jane", Groups: []string{" system:masters"}},
		"uid with blank":      {Name: "jane", UID: "0 "},
		"extra with blank":    {Name: "jane", Extra: map[string][]string{"scopes": {" all"}}},
		"extra with nul":      {Name: "jane", Extra: map[string][]string{"scopes": {"a\x00"}}},
		"extra of empty name": {Name: "jane", Extra: map[string][]string{"": {"a"}}},
	}
	ways := []forwardtest.Settings{
		{},
		{ClientHTTP1: true, UpstreamHTTP1: true},
		{ClientHTTP1: true, FrontProxy: upstream.KeyPair{CertFile: certFile, KeyFile: keyFile}},
	}
	for name, who := range users {
		t.Run(name, func(t *testing.T) {
			for _, way := range ways {
				way.Caller, way.User = request.ClientCert, who
				e := forwardtest.New(t, way)
				resp := e.Get(t, "/api/v1/pods", nil)
				if resp.StatusCode != http.StatusForbidden {
					t.Errorf("answer is %s", resp.Status)
				}
				if info := e.End(t); info.Outcome.Source != request.SourceGateway {
					t.Errorf("answered by %q", info.Outcome.Source)
				}
				e.ExpectNone(t)
			}
		})
	}
}

// keyPair makes a certificate for a client.
func keyPair(t *testing.T, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(file, kind string, data []byte) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("tls.crt", "CERTIFICATE", der), write("tls.key", "PRIVATE KEY", secret)
}
