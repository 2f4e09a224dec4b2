package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/upstream"
	"sluice/test/support/proxytest"
)

// The options of the tests.
const (
	tokenTTL, allowTTL = 10 * time.Second, 10 * time.Second
	denyTTL            = 5 * time.Second
	reviewsInFlight    = 64
	knownReviews       = 16
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reviewAPI is a fake apiserver that serves TokenReviews and SubjectAccessReviews to real clients.
type reviewAPI struct {
	mu       sync.Mutex
	tokens   map[string]*authenticationv1.TokenReviewStatus // nil rejects the token
	allow    func(*authorizationv1.SubjectAccessReviewSpec) bool
	fault    func(w http.ResponseWriter, r *http.Request) // responds instead, if not nil
	delay    time.Duration                                // of each response
	reviewed []string                                     // tokens
	accesses []*authorizationv1.SubjectAccessReviewSpec
	webhook  bool // an authorizer does not go by rules
	running  int
	most     int // that have run at the same time
}

func (a *reviewAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	switch review := object.(type) {
	case *authenticationv1.TokenReview:
		a.reviewed = append(a.reviewed, review.Spec.Token)
		if status := a.tokens[review.Spec.Token]; status != nil {
			review.Status = *status
		}
		review.Spec.Token = ""
	case *authorizationv1.SubjectAccessReview:
		a.accesses = append(a.accesses, &review.Spec)
		review.Status.Allowed = a.allow != nil && a.allow(&review.Spec)
	case *authorizationv1.SelfSubjectRulesReview:
		review.Status.Incomplete = a.webhook
	}
	fault, delay := a.fault, a.delay
	a.running++
	a.most = max(a.most, a.running)
	a.mu.Unlock()
	time.Sleep(delay)
	a.mu.Lock()
	a.running--
	a.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(object)
}

func (a *reviewAPI) breakWith(fault func(w http.ResponseWriter, r *http.Request)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = fault
}

// counts returns the numbers of reviews so far.
func (a *reviewAPI) counts() (tokens, accesses int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.reviewed), len(a.accesses)
}

// mostAtOnce returns how many reviews have run at the same time.
func (a *reviewAPI) mostAtOnce() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most
}

// verified returns the status of a valid token of a user.
func verified(name string, groups ...string) *authenticationv1.TokenReviewStatus {
	return &authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: name, UID: "uid-" + name, Groups: groups}}
}

// run runs a test of an Access for a fake apiserver, in a bubble of virtual time.
func run(t *testing.T, test func(t *testing.T, reviews *reviewAPI, access *Access)) {
	t.Helper()
	runWith(t, func(*AuthenticatorOptions) {}, test)
}

// part returns a part of a test for t.Run, which run or one of its kind runs.
func part[F any](run func(*testing.T, F), test F) func(*testing.T) {
	return func(t *testing.T) { run(t, test) }
}

// runAllowed runs a test of an Access whose caller "a" may read all, in group dev.
func runAllowed(t *testing.T, test func(t *testing.T, reviews *reviewAPI, access *Access)) {
	t.Helper()
	run(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["a"] = verified("jane", "dev")
		reviews.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
		test(t, reviews, access)
	})
}

// runWith is run with options.
func runWith(t *testing.T, change func(*AuthenticatorOptions), test func(t *testing.T, reviews *reviewAPI, access *Access)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := &reviewAPI{tokens: map[string]*authenticationv1.TokenReviewStatus{}}
		server := proxytest.Serve(fake)
		api, err := upstream.New(upstream.Options{Config: &rest.Config{Host: "http://api", Dial: server.Dial}})
		if err != nil {
			t.Fatal(err)
		}
		review, err := api.Reviews(api.Self)
		if err != nil {
			t.Fatal(err)
		}
		queue := limits.NewQueue(reviewsInFlight, knownReviews)
		o := AuthenticatorOptions{Reviews: review, TokenTTL: tokenTTL, Queue: queue}
		change(&o)
		access := &Access{Authenticator: NewAuthenticator(o), Authorizer: NewAuthorizer(AuthorizerOptions{
			Reviews: review, Rules: review, AllowTTL: allowTTL, DenyTTL: denyTTL, Queue: queue,
			Version: func() *version.Info { return &version.Info{GitVersion: "v1.36.0"} },
		})}
		defer func() {
			api.Close()
			server.Close(t)
		}()
		test(t, fake, access)
	})
}

// faults are the ways in which reviews fail.
var faults = map[string]func(w http.ResponseWriter, r *http.Request){
	"internal error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	"unavailable": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	},
	"too many":              func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
	"forbidden":             func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
	"closes the connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"no response":           func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"not found":             func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
	"no status":             func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) },
	"nonsense": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":{"allowed":true,"authenticated":true`)
	},
	"another object": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500}`)
	},
}

// newRequest returns a GET request that carries its Info.
func newRequest(line string, header http.Header) *http.Request {
	r := httptest.NewRequest(http.MethodGet, line, nil)
	maps.Copy(r.Header, header)
	info, err := request.Parse(r)
	if err != nil {
		panic(err)
	}
	return r.WithContext(request.With(r.Context(), info))
}

// token returns the header of a bearer token.
func token(t string) http.Header { return http.Header{"Authorization": {"Bearer " + t}} }

// impersonating returns the header of an impersonation by token.
func impersonating(t, user string) http.Header {
	h := token(t)
	h.Set("Impersonate-User", user)
	return h
}

// authority is a CA of client certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key}
	a.cert = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: epoch.Add(-time.Hour), NotAfter: epoch.Add(1000 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// epoch is the start time of a synctest bubble.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (a *authority) sign(t *testing.T, template *x509.Certificate) *x509.Certificate {
	t.Helper()
	template.SerialNumber = big.NewInt(1)
	parent := a.cert
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// client returns a template of a client certificate that is valid for an hour.
func client(name string, groups ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name, Organization: groups},
		NotBefore: epoch.Add(-time.Hour), NotAfter: epoch.Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// trusted makes a the authority of client certificates.
func (a *authority) trusted(o *AuthenticatorOptions) { o.ClientCA = a.provider() }

func (a *authority) provider() func() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return func() *x509.CertPool { return roots }
}

// withCerts sets the client certificates of the connection of a request.
func withCerts(r *http.Request, certs ...*x509.Certificate) *http.Request {
	r.TLS = &tls.ConnectionState{PeerCertificates: certs}
	return r
}
