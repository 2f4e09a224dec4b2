package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
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
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sluice/proxy/proxytest"
	"sluice/proxy/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// api is a fake of the two review APIs, behind real clients and HTTP. It says
// what a test tells it to.
type api struct {
	mu       sync.Mutex
	tokens   map[string]*authenticationv1.TokenReviewStatus // nil: not authenticated
	allow    func(*authorizationv1.SubjectAccessReviewSpec) bool
	fault    func(w http.ResponseWriter, r *http.Request) // instead of an answer
	asked    []string                                     // tokens
	accesses []*authorizationv1.SubjectAccessReviewSpec
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	switch review := object.(type) {
	case *authenticationv1.TokenReview:
		a.asked = append(a.asked, review.Spec.Token)
		if status := a.tokens[review.Spec.Token]; status != nil {
			review.Status = *status
		}
		review.Spec.Token = ""
	case *authorizationv1.SubjectAccessReview:
		a.accesses = append(a.accesses, &review.Spec)
		review.Status.Allowed = a.allow != nil && a.allow(&review.Spec)
	}
	fault := a.fault
	a.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(object)
}

func (a *api) breakWith(fault func(w http.ResponseWriter, r *http.Request)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = fault
}

// counts returns how many reviews of each kind were asked for so far.
func (a *api) counts() (tokens, accesses int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked), len(a.accesses)
}

// verified is the answer for a token of that user.
func verified(name string, groups ...string) *authenticationv1.TokenReviewStatus {
	return &authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: name, UID: "uid-" + name, Groups: groups}}
}

// inBubble runs a test with an Access before a fake API; time is virtual.
func inBubble(t *testing.T, ca *authority, test func(t *testing.T, api *api, access *Access)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := &api{tokens: map[string]*authenticationv1.TokenReviewStatus{}}
		server := proxytest.Serve(fake)
		config := &rest.Config{Host: "http://api", Dial: server.Dial, QPS: -1}
		rt, err := rest.TransportFor(config)
		if err != nil {
			t.Fatal(err)
		}
		clients, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: rt})
		if err != nil {
			t.Fatal(err)
		}
		o := AuthenticatorOptions{Reviews: clients.AuthenticationV1()}
		if ca != nil {
			o.ClientCA = ca.provider(t)
		}
		access := &Access{Authenticator: NewAuthenticator(o)}
		if access.Authorizer, err = NewAuthorizer(AuthorizerOptions{Reviews: clients.AuthorizationV1()}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			utilnet.CloseIdleConnectionsFor(rt)
			server.Close(t)
		}()
		test(t, fake, access)
	})
}

// The ways in which an API may fail to answer.
var faults = map[string]func(w http.ResponseWriter, r *http.Request){
	"internal error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	"unavailable": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	},
	"too many":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
	"forbidden":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
	"hangs up":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"hangs":      func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"not found":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
	"no verdict": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) },
	"nonsense": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":{"allowed":true,"authenticated":true`)
	},
	"another object": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500}`)
	},
}

// asking makes a request with its Info, as the filters before would.
func asking(line string, header http.Header) *http.Request {
	r := httptest.NewRequest(http.MethodGet, line, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	info, err := request.Parse(r)
	if err != nil {
		panic(err)
	}
	return r.WithContext(request.With(r.Context(), info))
}

func token(t string) http.Header { return http.Header{"Authorization": {"Bearer " + t}} }

// authority makes client certificates.
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

// epoch is when bubbles begin.
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

// client is a template of a good certificate, for an hour.
func client(name string, groups ...string) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name, Organization: groups},
		NotBefore: epoch.Add(-time.Hour), NotAfter: epoch.Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func (a *authority) provider(t *testing.T) dynamiccertificates.CAContentProvider {
	t.Helper()
	p, err := dynamiccertificates.NewStaticCAContent("ca", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shows makes the request come over a connection with these certificates.
func shows(r *http.Request, certs ...*x509.Certificate) *http.Request {
	r.TLS = &tls.ConnectionState{PeerCertificates: certs}
	return r
}
