package auth

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/upstream"
)

func TestFrontProxyHeadersNeedItsCertificate(t *testing.T) {
	proxies, clients := newAuthority(t), newAuthority(t)
	headers := http.Header{"X-Remote-User": {"jane"}, "X-Remote-Group": {"dev", "ops"}}
	for name, row := range map[string]struct {
		certs  []*x509.Certificate
		header http.Header
		want   identity
	}{
		"good":                         {[]*x509.Certificate{proxies.sign(t, client("proxy"))}, headers, identity{Kind: request.ClientCert, Name: "jane", Groups: []string{"dev", "ops", user.AllAuthenticated}}},
		"other name":                   {[]*x509.Certificate{proxies.sign(t, client("other"))}, headers, unauthenticated},
		"certificate of a client":      {[]*x509.Certificate{clients.sign(t, client("joe"))}, headers, identity{Kind: request.ClientCert, Name: "joe", Groups: []string{user.AllAuthenticated}}},
		"client named like a proxy":    {[]*x509.Certificate{clients.sign(t, client("proxy"))}, headers, identity{Kind: request.ClientCert, Name: "proxy", Groups: []string{user.AllAuthenticated}}},
		"no certificate":               {nil, headers, unauthenticated},
		"no user":                      {[]*x509.Certificate{proxies.sign(t, client("proxy"))}, http.Header{"X-Remote-Group": {"dev"}}, unauthenticated},
		"before the proxy's own token": {[]*x509.Certificate{proxies.sign(t, client("proxy"))}, http.Header{"X-Remote-User": {"jane"}, "Authorization": {"Bearer a"}}, identity{Kind: request.ClientCert, Name: "jane", Groups: []string{user.AllAuthenticated}}},
	} {
		t.Run(name, func(t *testing.T) {
			runWith(t, func(o *AuthenticatorOptions) {
				o.ClientCA = clients.provider()
				o.FrontProxy = &FrontProxy{CA: proxies.provider(), Names: []string{"proxy"}, Headers: upstream.HeaderNames{User: []string{"X-Remote-User"}, Group: []string{"X-Remote-Group"}}}
			}, func(t *testing.T, reviews *reviewAPI, access *Access) {
				reviews.tokens["a"] = verified("joe")
				r := withCerts(newRequest("/api/v1/pods", row.header), row.certs...)
				if diff := cmp.Diff(row.want, authenticate(t, access.Authenticator, r)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestTokenMustBeForOneOfTheAudiences(t *testing.T) {
	for name, row := range map[string]struct {
		audiences []string
		want      string
	}{"one of them": {[]string{"other", "sluice"}, "jane"}, "another": {[]string{"other"}, ""}, "not supported": {nil, ""}} {
		t.Run(name, func(t *testing.T) {
			runWith(t, func(o *AuthenticatorOptions) { o.Audiences = []string{"sluice", "gateway"} }, func(t *testing.T, reviews *reviewAPI, access *Access) {
				reviews.tokens["a"] = &authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "jane"}, Audiences: row.audiences}
				if got := authenticate(t, access.Authenticator, newRequest("/api/v1/pods", token("a"))); got.Name != row.want {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}

func TestCallersWithoutCredentialsAreAnonymousIfThatIsOn(t *testing.T) {
	ca := newAuthority(t)
	for name, row := range map[string]struct {
		on   bool
		r    *http.Request
		want string
	}{
		"off":                 {false, newRequest("/api/v1/pods", nil), ""},
		"on":                  {true, newRequest("/api/v1/pods", nil), user.Anonymous},
		"no token":            {true, newRequest("/api/v1/pods", http.Header{"Authorization": {"Basic YTpi"}}), user.Anonymous},
		"rejected token":      {true, newRequest("/api/v1/pods", token("bad")), ""},
		"invalid certificate": {true, withCerts(newRequest("/api/v1/pods", nil), newAuthority(t).sign(t, client("jane"))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			runWith(t, func(o *AuthenticatorOptions) { o.Anonymous, o.ClientCA = row.on, ca.provider() }, func(t *testing.T, _ *reviewAPI, access *Access) {
				u, caller, _ := access.Authenticator.authenticate(row.r)
				got := ""
				if u != nil {
					got = u.GetName()
				}
				if got != row.want || caller != request.Unauthenticated { // it is forwarded as such
					t.Errorf("%q, kind %d", got, caller)
				}
			})
		})
	}
}

// The apiserver would not see the certificate and take the caller for anonymous, whatever else there is but a token.
func TestInvalidCertificateIsAnswered401(t *testing.T) {
	runWith(t, newAuthority(t).trusted, func(t *testing.T, _ *reviewAPI, access *Access) {
		for name, header := range map[string]http.Header{
			"alone": nil, "basic": {"Authorization": {"Basic YTpi"}}, "no token": {"Authorization": {"Bearer "}},
			"a space too many": {"Authorization": {"Bearer  a"}}, "a protocol": {"Sec-Websocket-Protocol": {"x"}},
		} {
			w := httptest.NewRecorder()
			next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%s: the request is forwarded", name) })
			r := withCerts(newRequest("/api/v1/pods", header), newAuthority(t).sign(t, client("jane")))
			access.Authenticator.WithAuthentication(next).ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized {
				t.Errorf("%s: code %d", name, w.Code)
			}
		}
	})
}

// A chain of decoy certificates takes half a second to verify.
func TestCertificatesAreVerifiedOncePerConnection(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	runWith(t, ca.trusted, func(t *testing.T, _ *reviewAPI, access *Access) {
		ctx := ConnContext(t.Context(), nil)
		verified := connectionFrom(ctx)
		names := func(certs ...*x509.Certificate) string {
			r := withCerts(newRequest("/api/v1/pods", nil), certs...)
			return authenticate(t, access.Authenticator, r.WithContext(request.With(ctx, request.From(r.Context())))).Name
		}
		good, bad := ca.sign(t, client("jane")), other.sign(t, client("joe"))
		if got := names(good); got != "jane" {
			t.Fatalf("got %q", got)
		}
		chains := verified.clientCA.chains
		time.Sleep(2 * rejectedFor)           // what was verified is known until it expires
		if got := names(bad); got != "jane" { // the certificates of a connection do not change
			t.Errorf("verified again: %q", got)
		}
		if &chains[0] != &verified.clientCA.chains[0] {
			t.Error("verified again")
		}
		time.Sleep(time.Until(good.NotAfter) + time.Second)
		if got := names(good); got != "" {
			t.Errorf("after expiry: %q", got)
		}
	})
}

// Whoever holds a connection open would else keep what a CA has proven that is no longer trusted.
func TestOpenConnectionsAreVerifiedAgainByAnotherCA(t *testing.T) {
	before, after := newAuthority(t), newAuthority(t)
	first, second := before.provider()(), after.provider()()
	c, presented := &connection{}, []*x509.Certificate{before.sign(t, client("jane"))}
	synctest.Test(t, func(t *testing.T) { // at the time of the certificates
		if _, err := c.verify(&c.clientCA, presented, first); err != nil {
			t.Fatal(err)
		}
		if _, err := c.verify(&c.clientCA, presented, second); err == nil {
			t.Error("a certificate of the former CA is valid")
		}
		if _, err := c.verify(&c.clientCA, presented, first); err != nil {
			t.Errorf("a certificate of the CA that is trusted again: %v", err)
		}
	})
}

// mayImpersonate allows the user boss to impersonate jane, and jane to read pods.
func mayImpersonate(s *authorizationv1.SubjectAccessReviewSpec) bool {
	a := s.ResourceAttributes
	return s.User == "boss" && a.Verb == "impersonate" && a.Resource == "users" && a.Name == "jane" || s.User == "jane" && a.Resource == "pods"
}

func TestCallerThatImpersonatesByTokenReadsAsTheImpersonatedUser(t *testing.T) {
	for name, row := range map[string]struct {
		token, impersonates, path string
		want                      bool
	}{
		"allowed":                       {"boss", "jane", "/api/v1/pods", true},
		"the impersonated may not read": {"boss", "jane", "/api/v1/nodes", false},
		"may not impersonate this user": {"boss", "root", "/api/v1/pods", false},
		"may not impersonate":           {"jane", "boss", "/api/v1/pods", false},
	} {
		t.Run(name, part(run, func(t *testing.T, reviews *reviewAPI, access *Access) {
			reviews.tokens["boss"], reviews.tokens["jane"] = verified("boss"), verified("jane")
			reviews.allow = mayImpersonate
			r := authenticated(t, access, newRequest(row.path, impersonating(row.token, row.impersonates)))
			if got := access.Allowed(r, readOf(t, r)); got != row.want {
				t.Errorf("allowed: %v", got)
			}
			if as := request.From(r.Context()).Impersonated; (as != nil && as.GetName() == row.impersonates) != row.want {
				t.Errorf("the logs name %v", as)
			}
			if r.Header.Get("Impersonate-User") == "" {
				t.Error("a forwarded request would not impersonate")
			}
			if !row.want {
				return
			}
			denied, err := access.StillAllowed(r, readOf(t, r))
			if denied != nil || err != nil {
				t.Errorf("the watch ends: %v, %v", denied, err)
			}
			reviews.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool { return s.User == "jane" }
			access.Authorizer.changes.happened() // as access rules do; a TTL ends it in TestRecheckRepeatsTheImpersonation
			if access.Allowed(r, readOf(t, r)) {
				t.Error("allowed after the right to impersonate is revoked")
			}
			if denied, _ = access.StillAllowed(r, readOf(t, r)); denied == nil || denied.Status().Code != http.StatusForbidden {
				t.Errorf("the right to impersonate is revoked: %v", denied)
			}
		}))
	}
}

func TestLongSelectorsOfCallersWhoImpersonateAreParsedInTurns(t *testing.T) {
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["boss"], reviews.allow = verified("boss"), mayImpersonate
		path := "/api/v1/pods?fieldSelector=" + strings.Repeat("a,", 400) + "a"
		r := authenticated(t, access, newRequest(path, impersonating("boss", "jane")))
		cpu := flowcontrol.NewCPU(1)
		access.Authorizer.impersonator.cpu = cpu
		busy := cpu.Work(t.Context(), limits.Caller{Group: "busy"}, 1<<30)
		if err := busy.Next(); err != nil {
			t.Fatal(err)
		}
		done := make(chan bool, 1)
		go func() {
			done <- access.Allowed(r, &request.Read{
				Verb: "list", GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
				Labels: labels.Everything(), Fields: fields.Everything(),
			})
		}()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("it was answered without a turn")
		}
		busy.Rest()
		<-done
	})
}

// A watch of a caller that impersonates by certificate outlives rechecks.
func TestRecheckRepeatsTheImpersonation(t *testing.T) {
	ca := newAuthority(t)
	runWith(t, ca.trusted, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.allow = mayImpersonate
		var got *http.Request
		next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })
		r := withCerts(newRequest("/api/v1/pods?watch=1", http.Header{"Impersonate-User": {"jane"}}), ca.sign(t, client("boss")))
		access.Authenticator.WithAuthentication(access.Authorizer.WithImpersonation(next)).ServeHTTP(httptest.NewRecorder(), r)
		if got == nil || !access.Allowed(got, readOf(t, got)) {
			t.Fatal("not allowed")
		}
		if u, _ := apirequest.UserFrom(got.Context()); u.GetName() != "jane" {
			t.Errorf("the user is %v", u)
		}
		for _, allow := range []bool{true, false} {
			if !allow {
				reviews.allow = nil
			}
			time.Sleep(2*allowTTL + time.Second)
			if denied, err := access.StillAllowed(got.WithContext(context.WithoutCancel(got.Context())), readOf(t, got)); (denied == nil) != allow || err != nil {
				t.Errorf("allowed %v: %v, %v", allow, denied, err)
			}
		}
	})
}

// A review that fails says nothing about the caller, and its error names Sluice.
func TestImpersonationThatIsNotAllowedOrNotReviewedIsRefused(t *testing.T) {
	ca, denied := newAuthority(t), "denied"
	for _, name := range append(slices.Collect(maps.Keys(faults)), denied) {
		t.Run(name, func(t *testing.T) {
			runWith(t, ca.trusted, func(t *testing.T, reviews *reviewAPI, access *Access) {
				reviews.fault = faults[name]
				next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request passes") })
				r := withCerts(newRequest("/api/v1/pods", http.Header{"Impersonate-User": {"jane"}}), ca.sign(t, client("boss")))
				w := httptest.NewRecorder()
				access.Authenticator.WithAuthentication(access.Authorizer.WithImpersonation(next)).ServeHTTP(w, r)
				forbidden := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), `User \"boss\" cannot impersonate`)
				again := w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "1"
				if forbidden != (name == denied) || again == forbidden || w.Header().Get("Audit-Id") == "" {
					t.Errorf("%d, %v, %s", w.Code, w.Header(), w.Body)
				}
				if got := request.From(r.Context()).Decision; again && got != (request.Decision{}) {
					t.Errorf("the audit log says that somebody decided: %+v", got)
				}
			})
		})
	}
}

// Each way to authenticate can be off. What it would have proven then proves nothing.
func TestEachWayToAuthenticateCanBeOff(t *testing.T) {
	proxies, clients := newAuthority(t), newAuthority(t)
	all := func(o *AuthenticatorOptions) {
		o.ClientCA, o.Anonymous = clients.provider(), true
		o.FrontProxy = &FrontProxy{CA: proxies.provider(), Headers: upstream.HeaderNames{User: []string{"X-Remote-User"}}}
	}
	for name, row := range map[string]struct {
		off   func(*AuthenticatorOptions)
		certs []*x509.Certificate
		h     http.Header
		want  string // the user while it is on
	}{
		"tokens":              {func(o *AuthenticatorOptions) { o.Reviews = nil }, nil, token("a"), "jane"},
		"client certificates": {func(o *AuthenticatorOptions) { o.ClientCA = nil }, []*x509.Certificate{clients.sign(t, client("joe"))}, nil, "joe"},
		"front proxies":       {func(o *AuthenticatorOptions) { o.FrontProxy = nil }, []*x509.Certificate{proxies.sign(t, client("proxy"))}, http.Header{"X-Remote-User": {"joan"}}, "joan"},
		"anonymous callers":   {func(o *AuthenticatorOptions) { o.Anonymous = false }, nil, nil, user.Anonymous},
	} {
		for _, off := range []bool{false, true} {
			want := row.want
			if off {
				want = ""
			}
			t.Run(fmt.Sprintf("%s, off %v", name, off), func(t *testing.T) {
				runWith(t, func(o *AuthenticatorOptions) {
					all(o)
					if off {
						row.off(o)
					}
				}, func(t *testing.T, reviews *reviewAPI, access *Access) {
					reviews.tokens["a"] = verified("jane")
					r := withCerts(newRequest("/api/v1/pods", row.h), row.certs...)
					got := ""
					if u, _, _ := access.Authenticator.authenticate(r); u != nil {
						got = u.GetName()
					}
					access.Authenticator.Forget(r)
					if got != want {
						t.Errorf("the user is %q, want %q", got, want)
					}
				})
			})
		}
	}
}
