package auth

import (
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/request"
)

// caller is what the handlers behind WithAuthentication learn.
type caller struct {
	Kind   request.Caller
	Name   string
	Groups []string
}

// call sends a request through WithAuthentication, which must leave its headers alone.
func call(t *testing.T, a *Authenticator, r *http.Request) caller {
	t.Helper()
	before := r.Header.Clone()
	var got caller
	a.WithAuthentication(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		got.Kind = info.Caller
		who, ok := apirequest.UserFrom(r.Context())
		if ok != (info.Caller != request.Unauthenticated) {
			t.Errorf("caller of kind %d has user %v", info.Caller, who)
		}
		if ok {
			got.Name, got.Groups = who.GetName(), who.GetGroups()
		}
		if info.User != got.Name {
			t.Errorf("the log has %q for %q", info.User, got.Name)
		}
		if diff := cmp.Diff(before, r.Header); diff != "" {
			t.Errorf("headers were changed (-before +behind):\n%s", diff)
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
	return got
}

var nobody = caller{}

func bearerOf(name string, groups ...string) caller {
	return caller{request.BearerToken, name, append(groups, user.AllAuthenticated)}
}

func TestTokens(t *testing.T) {
	webSocket := func(token string) http.Header {
		return http.Header{"Sec-Websocket-Protocol": {
			"v4.channel.k8s.io, base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token)),
		}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	}
	tests := []struct {
		name   string
		header http.Header
		want   caller
		asked  []string
	}{
		{"none", nil, nobody, nil},
		{"good", token("good"), bearerOf("jane", "dev"), []string{"good"}},
		{"refused", token("bad"), nobody, []string{"bad"}},
		{"lower case", http.Header{"Authorization": {"bearer good"}}, bearerOf("jane", "dev"), []string{"good"}},
		{"first counts", http.Header{"Authorization": {"Bearer good", "Bearer bad"}}, bearerOf("jane", "dev"), []string{"good"}},
		{"empty", token(""), nobody, nil},
		{"password", http.Header{"Authorization": {"Basic Z29vZDpnb29k"}}, nobody, nil},
		{"another scheme", http.Header{"Authorization": {"Bearers good"}}, nobody, nil},
		{"in two spaces", http.Header{"Authorization": {"Bearer  good"}}, nobody, nil},
		{"websocket", webSocket("good"), bearerOf("jane", "dev"), []string{"good"}},
		{"websocket, refused", webSocket("bad"), nobody, []string{"bad"}},
		{"websocket without", http.Header{"Sec-Websocket-Protocol": {"v4.channel.k8s.io"}}, nobody, nil},
		{"unnamed", token("unnamed"), nobody, []string{"unnamed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, api *api, access *Access) {
				api.tokens["good"] = verified("jane", "dev")
				api.tokens["unnamed"] = verified("")
				api.tokens["bad"] = &authenticationv1.TokenReviewStatus{Error: "[invalid bearer token, token lookup failed]"}
				if diff := cmp.Diff(tt.want, call(t, access.Authenticator, asking("/api/v1/pods", tt.header))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.asked, api.asked); diff != "" {
					t.Errorf("reviews (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A result is remembered for its time, good or bad, and no longer.
func TestTokensAreRemembered(t *testing.T) {
	reviews := map[string]*authenticationv1.TokenReviewStatus{
		"verified":              verified("jane"),
		"refused":               nil,
		"refused with a reason": {Error: "[invalid bearer token, token lookup failed]"}, // as apiservers do
	}
	for name, review := range reviews {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, api *api, access *Access) {
				api.tokens["a"] = review
				for i := range 4 {
					call(t, access.Authenticator, asking("/api/v1/pods", token("a")))
					if n, _ := api.counts(); n != 1 {
						t.Errorf("asked %d times in %v", n, time.Duration(i)*DefaultTokenTTL/4)
					}
					time.Sleep(DefaultTokenTTL / 4)
				}
				api.tokens["a"] = verified("joe")
				time.Sleep(time.Second)
				if got := call(t, access.Authenticator, asking("/api/v1/pods", token("a"))); got.Name != "joe" {
					t.Errorf("later it is %+v", got)
				}
				// Another token is another matter.
				call(t, access.Authenticator, asking("/api/v1/pods", token("b")))
				if n, _ := api.counts(); n != 3 {
					t.Errorf("asked %d times", n)
				}
			})
		})
	}
}

// Who comes while a token is being looked at waits for the same answer.
func TestTokenIsReviewedOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *api, access *Access) {
		api.tokens["a"] = verified("jane")
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if got := call(t, access.Authenticator, asking("/api/v1/pods", token("a"))); got.Name != "jane" {
					t.Errorf("got %+v", got)
				}
			})
		}
		callers.Wait()
		if n, _ := api.counts(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// Without an answer nobody is known, for as long as there is none and no
// longer, and nobody waits without end.
func TestTokensWithoutAnswer(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, api *api, access *Access) {
				api.tokens["a"] = verified("jane")
				api.breakWith(fault)
				start := time.Now()
				if got := call(t, access.Authenticator, asking("/api/v1/pods", token("a"))); got.Kind != request.Unauthenticated {
					t.Errorf("got %+v", got)
				}
				if took := time.Since(start); took > 2*reviewTimeout {
					t.Errorf("took %v", took)
				}
				api.breakWith(nil)
				if name == "no verdict" || name == "another object" {
					time.Sleep(DefaultTokenTTL + time.Second) // read as a refusal
				}
				if got := call(t, access.Authenticator, asking("/api/v1/pods", token("a"))); got.Name != "jane" {
					t.Errorf("then %+v", got)
				}
			})
		})
	}
}

func TestCertificates(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	asserted := func(name string, groups ...string) caller {
		return caller{request.ClientCert, name, append(groups, user.AllAuthenticated)}
	}
	edit := func(edit func(*x509.Certificate)) *x509.Certificate {
		c := client("jane", "dev")
		edit(c)
		return ca.sign(t, c)
	}
	tests := []struct {
		name   string
		certs  []*x509.Certificate
		header http.Header
		want   caller
	}{
		{"good", []*x509.Certificate{ca.sign(t, client("jane", "dev", "ops"))}, nil, asserted("jane", "dev", "ops")},
		{"before a token", []*x509.Certificate{ca.sign(t, client("jane"))}, token("joe's"), asserted("jane")},
		{"before a bad token", []*x509.Certificate{ca.sign(t, client("jane"))}, token("bad"), asserted("jane")},
		{"of another authority", []*x509.Certificate{other.sign(t, client("jane"))}, nil, nobody},
		{"of another authority, and a token", []*x509.Certificate{other.sign(t, client("jane"))}, token("joe's"), bearerOf("joe")},
		{"over", []*x509.Certificate{edit(func(c *x509.Certificate) { c.NotAfter = epoch.Add(-time.Minute) })}, nil, nobody},
		{"over, and a token", []*x509.Certificate{edit(func(c *x509.Certificate) { c.NotAfter = epoch.Add(-time.Minute) })}, token("joe's"), bearerOf("joe")},
		{"not yet", []*x509.Certificate{edit(func(c *x509.Certificate) { c.NotBefore = epoch.Add(time.Minute) })}, nil, nobody},
		{"of a server", []*x509.Certificate{edit(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })}, nil, nobody},
		{"without a name", []*x509.Certificate{edit(func(c *x509.Certificate) { c.Subject.CommonName = "" })}, nil, nobody},
		{"the second in the chain", []*x509.Certificate{other.sign(t, client("joe")), ca.sign(t, client("jane"))}, nil, nobody},
		{"none", []*x509.Certificate{}, nil, nobody},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, ca, func(t *testing.T, api *api, access *Access) {
				api.tokens["joe's"] = verified("joe")
				got := call(t, access.Authenticator, shows(asking("/api/v1/pods", tt.header), tt.certs...))
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if n, _ := api.counts(); got.Kind == request.ClientCert && n != 0 {
					t.Error("a token was reviewed in spite of the certificate")
				}
			})
		})
	}
	t.Run("not taken", func(t *testing.T) {
		inBubble(t, nil, func(t *testing.T, _ *api, access *Access) {
			if got := call(t, access.Authenticator, shows(asking("/api/v1/pods", nil), ca.sign(t, client("jane")))); got.Kind != request.Unauthenticated {
				t.Errorf("got %+v", got)
			}
		})
	})
}
