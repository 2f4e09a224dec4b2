package auth

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/request"
)

// identity is the result of WithAuthentication.
type identity struct {
	Kind   request.Caller
	Name   string
	Groups []string

	Unreviewed bool
}

// authenticate sends a request through WithAuthentication, which must not change its headers.
func authenticate(t *testing.T, a *Authenticator, r *http.Request) identity {
	t.Helper()
	before := r.Header.Clone()
	var got identity
	a.WithAuthentication(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		got.Kind, got.Unreviewed = info.Caller, info.Unreviewed()
		who, ok := apirequest.UserFrom(r.Context())
		if ok != (info.Caller != request.Unauthenticated) {
			t.Errorf("caller of kind %d has user %v", info.Caller, who)
		}
		if ok {
			got.Name, got.Groups = who.GetName(), who.GetGroups()
		}
		if info.User != got.Name {
			t.Errorf("Info.User is %q, want %q", info.User, got.Name)
		}
		if diff := cmp.Diff(before, r.Header); diff != "" {
			t.Errorf("headers (-before +after):\n%s", diff)
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
	return got
}

var unauthenticated = identity{}

func byToken(name string, groups ...string) identity {
	return identity{Kind: request.BearerToken, Name: name, Groups: append(groups, user.AllAuthenticated)}
}

// webSocket returns the headers of a request for a WebSocket with a token.
func webSocket(token string) http.Header {
	return http.Header{"Sec-Websocket-Protocol": {
		"v4.channel.k8s.io, base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token)),
	}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
}

// The upgrade headers of a request that may not switch protocols are not forwarded, and without them the apiserver would see
// no token in the subprotocol, and somebody else than Sluice.
func TestTokenOfAWebSocketIsForwardedAsTheApiserverReadsIt(t *testing.T) {
	const object = "/api/v1/namespaces/x/configmaps/c"
	for _, row := range []struct {
		name, path, bearer, token string
		want                      identity
		authorization             string // that is forwarded
		protocol                  bool   // the subprotocol is forwarded
	}{
		{"a watch", "/api/v1/pods?watch=1", "", "good", byToken("jane"), "", true},
		{"an object", object, "", "good", byToken("jane"), "Bearer good", false},
		{"a list", "/api/v1/pods", "", "good", byToken("jane"), "Bearer good", false},
		{"an object, and a token that is refused", object, "", "bad", unauthenticated, "Bearer bad", false},
		{"an object, beside a bearer token that is refused", object, "Bearer bad", "good", unauthenticated, "Bearer bad", false},
		{"an object, beside another bearer token", object, "Bearer good", "bad", byToken("jane"), "Bearer good", false},
		{"an object, and a token that is no header", object, "", "good\r\nx", unauthenticated, "", false},
		{"an object, and two words", object, "", "good x", unauthenticated, "", false},
	} {
		t.Run(row.name, part(run, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.tokens["good"] = verified("jane")
			h := webSocket(row.token)
			if row.bearer != "" {
				h.Set("Authorization", row.bearer)
			}
			r := newRequest(row.path, h)
			got := authenticated(t, access, r)
			info := request.From(got.Context())
			if info.Caller != row.want.Kind || info.User != row.want.Name {
				t.Errorf("caller %d, %q", info.Caller, info.User)
			}
			if a := got.Header.Get("Authorization"); a != row.authorization {
				t.Errorf("forwarded with %q", a)
			}
			if forwarded := got.Header.Get("Sec-Websocket-Protocol") != ""; forwarded != row.protocol {
				t.Errorf("forwarded with the subprotocol: %v", forwarded)
			}
		}))
	}
}

func TestTokensAreAuthenticatedByReview(t *testing.T) {
	tests := []struct {
		name     string
		header   http.Header
		want     identity
		reviewed []string
	}{
		{"none", nil, unauthenticated, nil},
		{"good", token("good"), byToken("jane", "dev"), []string{"good"}},
		{"refused", token("bad"), unauthenticated, []string{"bad"}},
		{"lower case", http.Header{"Authorization": {"bearer good"}}, byToken("jane", "dev"), []string{"good"}},
		{"first counts", http.Header{"Authorization": {"Bearer good", "Bearer bad"}}, byToken("jane", "dev"), []string{"good"}},
		{"empty", token(""), unauthenticated, nil},
		{"password", http.Header{"Authorization": {"Basic Z29vZDpnb29k"}}, unauthenticated, nil},
		{"another scheme", http.Header{"Authorization": {"Bearers good"}}, unauthenticated, nil},
		{"two spaces", http.Header{"Authorization": {"Bearer  good"}}, unauthenticated, nil},
		{"websocket", webSocket("good"), byToken("jane", "dev"), []string{"good"}},
		{"websocket, refused", webSocket("bad"), unauthenticated, []string{"bad"}},
		{"websocket without", http.Header{"Sec-Websocket-Protocol": {"v4.channel.k8s.io"}}, unauthenticated, nil},
		{"unnamed", token("unnamed"), unauthenticated, []string{"unnamed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, part(run, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.tokens["good"] = verified("jane", "dev")
			reviews.tokens["unnamed"] = verified("")
			reviews.tokens["bad"] = &authenticationv1.TokenReviewStatus{Error: "[invalid bearer token, token lookup failed]"}
			if diff := cmp.Diff(tt.want, authenticate(t, access.Authenticator, newRequest("/api/v1/pods?watch=1", tt.header))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.reviewed, reviews.reviewed); diff != "" {
				t.Errorf("reviews (-want +got):\n%s", diff)
			}
		}))
	}
}

func TestTokenReviewsAreCachedForTheirTTL(t *testing.T) {
	reviews := map[string]*authenticationv1.TokenReviewStatus{
		"verified":              verified("jane"),
		"refused":               nil,
		"refused with a reason": {Error: "[invalid bearer token, token lookup failed]"}, // as apiservers respond
	}
	for name, review := range reviews {
		t.Run(name, part(run, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.tokens["a"] = review
			for i := range 4 {
				authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a")))
				if n, _ := reviews.counts(); n != 1 {
					t.Errorf("%d reviews within %v", n, time.Duration(i)*tokenTTL/4)
				}
				time.Sleep(tokenTTL / 4)
			}
			reviews.tokens["a"] = verified("joe")
			time.Sleep(time.Second)
			if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Name != "joe" {
				t.Errorf("after the TTL: %+v", got)
			}
			authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("b")))
			if n, _ := reviews.counts(); n != 3 {
				t.Errorf("%d reviews", n)
			}
			access.Authenticator.SetTokenTTL(tokenTTL / 8)
			for range 2 {
				authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("c")))
				time.Sleep(tokenTTL / 4)
			}
			if n, _ := reviews.counts(); n != 5 {
				t.Errorf("%d reviews, want two more after a shorter TTL was set", n)
			}
		}))
	}
}

func TestCallerIsUnauthenticatedWhileReviewsFail(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, part(run, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.tokens["a"] = verified("jane")
			reviews.breakWith(fault)
			start := time.Now()
			if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Kind != request.Unauthenticated || !got.Unreviewed {
				t.Errorf("got %+v", got)
			}
			if took := time.Since(start); took > 2*reviewTimeout {
				t.Errorf("took %v", took)
			}
			reviews.breakWith(nil)
			time.Sleep(failedPause)
			if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Name != "jane" {
				t.Errorf("after recovery: %+v", got)
			}
		}))
	}
}

func TestClientCertificatesAreVerified(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	byCert := func(name string, groups ...string) identity {
		return identity{Kind: request.ClientCert, Name: name, Groups: append(groups, user.AllAuthenticated)}
	}
	edit := func(edit func(*x509.Certificate)) *x509.Certificate {
		c := client("jane", "dev")
		edit(c)
		return ca.sign(t, c)
	}
	between := &authority{key: ca.key, cert: ca.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "between"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: epoch.Add(-time.Hour), NotAfter: epoch.Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	})}
	jane := between.sign(t, client("jane"))
	tests := []struct {
		name   string
		certs  []*x509.Certificate
		header http.Header
		want   identity
	}{
		{"good", []*x509.Certificate{ca.sign(t, client("jane", "dev", "ops"))}, nil, byCert("jane", "dev", "ops")},
		{"before a token", []*x509.Certificate{ca.sign(t, client("jane"))}, token("joe's"), byCert("jane")},
		{"before a bad token", []*x509.Certificate{ca.sign(t, client("jane"))}, token("bad"), byCert("jane")},
		{"of another CA", []*x509.Certificate{other.sign(t, client("jane"))}, nil, unauthenticated},
		{"of another CA, and a token", []*x509.Certificate{other.sign(t, client("jane"))}, token("joe's"), byToken("joe")},
		{"expired", []*x509.Certificate{edit(func(c *x509.Certificate) { c.NotAfter = epoch.Add(-time.Minute) })}, nil, unauthenticated},
		{"expired, and a token", []*x509.Certificate{edit(func(c *x509.Certificate) { c.NotAfter = epoch.Add(-time.Minute) })}, token("joe's"), byToken("joe")},
		{"not yet valid", []*x509.Certificate{edit(func(c *x509.Certificate) { c.NotBefore = epoch.Add(time.Minute) })}, nil, unauthenticated},
		{"server certificate", []*x509.Certificate{edit(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })}, nil, unauthenticated},
		{"without a name", []*x509.Certificate{edit(func(c *x509.Certificate) { c.Subject.CommonName = "" })}, nil, unauthenticated},
		{"the second in the chain", []*x509.Certificate{other.sign(t, client("joe")), ca.sign(t, client("jane"))}, nil, unauthenticated},
		{"of an intermediate authority", []*x509.Certificate{jane, between.cert}, nil, byCert("jane")},
		{"of an intermediate authority, without its certificate", []*x509.Certificate{jane}, nil, unauthenticated},
		{"before a long chain", append([]*x509.Certificate{ca.sign(t, client("jane"))}, slices.Repeat([]*x509.Certificate{ca.cert}, maxCertificates)...), nil, unauthenticated},
		{"none", []*x509.Certificate{}, nil, unauthenticated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runWith(t, ca.trusted, func(t *testing.T, reviews *reviewAPI, access *Access) {
				reviews.tokens["joe's"] = verified("joe")
				got := authenticate(t, access.Authenticator, withCerts(newRequest("/api/v1/pods", tt.header), tt.certs...))
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if n, _ := reviews.counts(); got.Kind == request.ClientCert && n != 0 {
					t.Error("a token was reviewed although the certificate is valid")
				}
			})
		})
	}
	t.Run("without a client CA", part(run, func(t *testing.T, _ *reviewAPI, access *Access) {
		if got := authenticate(t, access.Authenticator, withCerts(newRequest("/api/v1/pods", nil), ca.sign(t, client("jane")))); got.Kind != request.Unauthenticated {
			t.Errorf("got %+v", got)
		}
	}))
}
