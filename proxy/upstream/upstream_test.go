package upstream

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sluice/proxy/certs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sluiceToken = "token-of-sluice"
	sluiceAgent = "sluice/test"
)

// received is what the apiserver sees of a request.
type received struct {
	Token      string // the Authorization header
	Cert       bool   // whether the connection has a client certificate
	Agent      string
	Proto      string
	Compressed bool   // whether the request accepts gzip
	connection string // the client's address
}

// apiserver is a TLS server that records the request that it receives.
type apiserver struct {
	*httptest.Server
	last received
}

// newAPIServer starts an apiserver. configure may change the server before it starts.
func newAPIServer(t *testing.T, configure ...func(*http.Server)) *apiserver {
	a := &apiserver{}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		a.last = received{
			Token: r.Header.Get("Authorization"), Cert: len(r.TLS.PeerCertificates) > 0, Agent: r.UserAgent(),
			Proto: r.Proto, Compressed: r.Header.Get("Accept-Encoding") != "", connection: r.RemoteAddr,
		}
	}))
	a.EnableHTTP2 = true
	a.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	for _, f := range configure {
		f(a.Config)
	}
	a.StartTLS()
	t.Cleanup(a.Close)
	return a
}

// connect returns an Upstream with the token of Sluice, unless configure changes that, and optionally
// with a front-proxy certificate.
func (a *apiserver) connect(t *testing.T, frontProxy bool, wrap func(string, http.RoundTripper) http.RoundTripper, configure ...func(*rest.Config)) *Upstream {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
	o := Options{
		Config:    &rest.Config{Host: a.URL, BearerToken: sluiceToken, TLSClientConfig: rest.TLSClientConfig{CAData: ca}},
		UserAgent: sluiceAgent,
		Wrap:      wrap,
	}
	if frontProxy {
		o.FrontProxy.CertFile, o.FrontProxy.KeyFile = clientCert(t)
	}
	for _, f := range configure {
		f(o.Config)
	}
	u, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	return u
}

// clientCert returns the files of a certificate that the server does not verify.
func clientCert(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	files, err := certs.Ensure(t.TempDir(), []string{"client"})
	if err != nil {
		t.Fatal(err)
	}
	return files.Cert, files.Key
}

// send sends a request with the header over rt and returns what the apiserver received.
func (a *apiserver) send(t *testing.T, rt http.RoundTripper, header http.Header) received {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL+"/version", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{}
	maps.Copy(req.Header, header)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return a.last
}

func TestEachTransportSendsItsOwnCredentialsOnly(t *testing.T) {
	const token, caller = "Bearer " + sluiceToken, "Bearer token-of-caller"
	header := http.Header{"Authorization": {caller}, "User-Agent": {"kubectl/test"}}
	bare := http.Header{"User-Agent": {"kubectl/test"}}
	tests := []struct {
		name       string
		transport  func(*Upstream) http.RoundTripper
		frontProxy bool
		header     http.Header
		want       received
	}{
		{"authenticated", func(u *Upstream) http.RoundTripper { return u.Authenticated }, false, header,
			received{Token: caller, Agent: "kubectl/test", Proto: "HTTP/2.0"}},
		{"authenticated, without the caller's token", func(u *Upstream) http.RoundTripper { return u.Authenticated }, false, bare,
			received{Agent: "kubectl/test", Proto: "HTTP/2.0"}},
		{"authenticated, with a front proxy", func(u *Upstream) http.RoundTripper { return u.Authenticated }, true, header,
			received{Token: caller, Agent: "kubectl/test", Proto: "HTTP/2.0"}},
		{"anonymous", func(u *Upstream) http.RoundTripper { return u.Anonymous }, false, header,
			received{Token: caller, Agent: "kubectl/test", Proto: "HTTP/1.1"}},
		{"anonymous, without a token", func(u *Upstream) http.RoundTripper { return u.Anonymous }, false, bare,
			received{Agent: "kubectl/test", Proto: "HTTP/1.1"}},
		{"upgrades", func(u *Upstream) http.RoundTripper { return u.Upgrades }, false, bare,
			received{Agent: "kubectl/test", Proto: "HTTP/1.1"}},
		{"upgrades, with a front proxy", func(u *Upstream) http.RoundTripper { return u.Upgrades }, true, bare,
			received{Agent: "kubectl/test", Proto: "HTTP/1.1"}},
		{"on behalf, by impersonation", func(u *Upstream) http.RoundTripper { return u.OnBehalf }, false, bare,
			received{Token: token, Agent: "kubectl/test", Proto: "HTTP/2.0"}},
		{"on behalf, by front proxy", func(u *Upstream) http.RoundTripper { return u.OnBehalf }, true, bare,
			received{Cert: true, Agent: "kubectl/test", Proto: "HTTP/2.0"}},
		{"upgrades on behalf, by impersonation", func(u *Upstream) http.RoundTripper { return u.OnBehalfUpgrades }, false, bare,
			received{Token: token, Agent: "kubectl/test", Proto: "HTTP/1.1"}},
		{"upgrades on behalf, by front proxy", func(u *Upstream) http.RoundTripper { return u.OnBehalfUpgrades }, true, bare,
			received{Cert: true, Agent: "kubectl/test", Proto: "HTTP/1.1"}},
		{"self", func(u *Upstream) http.RoundTripper { return u.Self }, false, nil,
			received{Token: token, Agent: sluiceAgent, Proto: "HTTP/2.0"}},
		{"self, with a front proxy", func(u *Upstream) http.RoundTripper { return u.Self }, true, nil,
			received{Token: token, Agent: sluiceAgent, Proto: "HTTP/2.0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPIServer(t)
			got := a.send(t, tt.transport(a.connect(t, tt.frontProxy, nil)), tt.header)
			got.connection = ""
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(received{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOnlyOwnRequestsAskForCompression: forwarded requests ask for what their callers accept.
func TestOnlyOwnRequestsAskForCompression(t *testing.T) {
	a := newAPIServer(t)
	config := a.connect(t, false, nil).config
	u, err := New(Options{Config: config, Compress: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	for _, rt := range []http.RoundTripper{u.Authenticated, u.Anonymous, u.Upgrades, u.OnBehalf, u.OnBehalfUpgrades, u.Self} {
		if got, want := a.send(t, rt, nil).Compressed, rt == u.Self; got != want {
			t.Errorf("a request accepts gzip: %v, want %v", got, want)
		}
	}
}

// The apiserver closes a connection after a 401, and a connection with a client certificate
// authenticates every request on it. client-go caches transports by their TLS options: with a token,
// those of all callers and of Sluice would be one.
func TestNoTwoTransportsShareAConnection(t *testing.T) {
	credentials := map[string]func(*rest.Config){
		"token": func(*rest.Config) {},
		"certificate": func(c *rest.Config) {
			c.BearerToken = ""
			c.CertFile, c.KeyFile = clientCert(t)
		},
	}
	for name, configure := range credentials {
		for _, frontProxy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, front proxy %v", name, frontProxy), func(t *testing.T) {
				a := newAPIServer(t)
				u, other := a.connect(t, frontProxy, nil, configure), a.connect(t, frontProxy, nil, configure)
				transports := map[string]http.RoundTripper{
					"authenticated": u.Authenticated, "anonymous": u.Anonymous, "upgrades": u.Upgrades, "on behalf": u.OnBehalf,
					"upgrades on behalf": u.OnBehalfUpgrades, "self": u.Self, "authenticated of another Upstream": other.Authenticated,
				}
				seen := map[string]string{}
				for name, rt := range transports {
					c := a.send(t, rt, nil).connection
					if other, ok := seen[c]; ok {
						t.Errorf("%s and %s share a connection", name, other)
					}
					seen[c] = name
					// A refused upgrade ends its connection, and no request of another caller must be sent on that.
					once := rt == u.Upgrades || rt == u.OnBehalfUpgrades
					if again := a.send(t, rt, nil).connection; (again != c) != once {
						t.Errorf("%s sends two requests on one connection: %v", name, again == c)
					}
				}
			})
		}
	}
}

// A redirect of the apiserver, or of a load balancer in front of it, would send the token of Sluice
// and the token under review to any host (the class of CVE-2022-3172).
func TestReviewsFollowNoRedirect(t *testing.T) {
	elsewhere := newAPIServer(t)
	a := newAPIServer(t)
	a.Config.Handler = http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect)
	u := a.connect(t, false, nil)
	create, err := u.Reviews(u.Self)
	if err != nil {
		t.Fatal(err)
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "a-caller's"}}
	if err := create(t.Context(), review, &authenticationv1.TokenReview{}); err == nil {
		t.Error("a redirect is no error")
	}
	if elsewhere.last != (received{}) {
		t.Errorf("the other host received %+v", elsewhere.last)
	}
}

// A review of another name is that of another user.
func TestReviewsHaveNamesAsTheyAre(t *testing.T) {
	const name = "\xff"
	a := newAPIServer(t)
	a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		review, ok := got.(*authorizationv1.SubjectAccessReview)
		if err != nil || !ok || r.URL.Path != "/apis/authorization.k8s.io/v1/subjectaccessreviews" {
			http.Error(w, fmt.Sprint(err, r.URL), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`, review.Spec.User == name)
	})
	u := a.connect(t, false, nil)
	create, err := u.Reviews(u.Self)
	if err != nil {
		t.Fatal(err)
	}
	got := &authorizationv1.SubjectAccessReview{}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: name}}
	if err := create(t.Context(), review, got); err != nil || !got.Status.Allowed {
		t.Errorf("%v: %+v", err, got.Status)
	}
}

// A response whose reader has stopped must not be buffered without a sane bound: that of net/http is
// 4 MiB for each response.
func TestStreamsAnnounceABoundedWindow(t *testing.T) {
	windows := make(chan uint32, 1)
	readSettings := func(_ *http.Server, conn *tls.Conn, _ http.Handler) {
		defer close(windows)
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		frame, err := http2.NewFramer(conn, conn).ReadFrame()
		if settings, ok := frame.(*http2.SettingsFrame); ok && err == nil {
			window, _ := settings.Value(http2.SettingInitialWindowSize)
			windows <- window
		}
	}
	a := newAPIServer(t, func(s *http.Server) {
		s.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": readSettings}
	})
	rt := a.connect(t, false, nil).Authenticated
	if resp, err := rt.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, a.URL, nil)); err == nil {
		resp.Body.Close()
	}
	if window := <-windows; window != streamBuffer {
		t.Errorf("the window of a stream is %d bytes, want %d", window, streamBuffer)
	}
}

func TestWrapCountsRequestsByPurpose(t *testing.T) {
	a := newAPIServer(t)
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	u := a.connect(t, false, m.Wrap)
	for _, rt := range []http.RoundTripper{u.Authenticated, u.Anonymous, u.Upgrades, u.OnBehalf, u.OnBehalfUpgrades, u.Self} {
		a.send(t, rt, nil)
	}
	a.Close()
	u.Close()
	if _, err := u.Self.RoundTrip(httptest.NewRequest(http.MethodGet, a.URL, nil)); err == nil {
		t.Error("a closed server responds")
	}
	for labels, want := range map[[2]string]float64{
		{"authenticated", "200"}: 1, {"anonymous", "200"}: 1, {"upgrade", "200"}: 2, {"on-behalf", "200"}: 1,
		{"self", "200"}: 1, {"self", "error"}: 1,
	} {
		if got := testutil.ToFloat64(m.requests.WithLabelValues(labels[0], labels[1])); got != want {
			t.Errorf("purpose %s, code %s: %v requests, want %v", labels[0], labels[1], got, want)
		}
	}
	if n, _ := testutil.GatherAndCount(registry, "sluice_upstream_requests_total"); n != 6 {
		t.Errorf("%d series, want 6", n)
	}
}

// An operator is not woken because clients hang up.
func TestRequestsThatClientsGaveUpAreNoErrorsOfTheApiserver(t *testing.T) {
	a := newAPIServer(t)
	began, done := make(chan struct{}, 1), make(chan struct{})
	t.Cleanup(func() { close(done) })
	a.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-done // a response at the end of the request could still arrive
	})
	m := NewMetrics(prometheus.NewRegistry())
	u := a.connect(t, false, m.Wrap)
	for _, tt := range []struct {
		end  func(context.CancelCauseFunc)
		code string
	}{
		{func(cancel context.CancelCauseFunc) { cancel(nil) }, codeCanceled}, // as net/http when a client hangs up
		{func(cancel context.CancelCauseFunc) { cancel(errors.New("no response in time")) }, codeError},
		{func(cancel context.CancelCauseFunc) { cancel(context.DeadlineExceeded) }, codeError},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		before := testutil.ToFloat64(m.requests.WithLabelValues("anonymous", tt.code))
		go func() {
			<-began
			tt.end(cancel)
		}()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Anonymous.RoundTrip(r); err == nil {
			t.Fatal("a canceled request has a response")
		}
		if n := testutil.ToFloat64(m.requests.WithLabelValues("anonymous", tt.code)) - before; n != 1 {
			t.Errorf("%v requests were counted with code %s, want 1", n, tt.code)
		}
	}
}

func TestAWatchCountsUntilItEnds(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	first, second := m.Watch("", "v1", "pods"), m.Watch("", "v1", "pods")
	for want, end := range []func(){second, first} {
		if got := testutil.ToFloat64(m.watches); got != float64(2-want) {
			t.Errorf("%v watches are open, want %d", got, 2-want)
		}
		end()
	}
	if got := testutil.ToFloat64(m.watches); got != 0 {
		t.Errorf("%v watches are open after their end", got)
	}
}

func TestResolveKeepsEscapingAndBasePath(t *testing.T) {
	for _, tt := range []struct{ host, path, query, want string }{
		{"https://a:6443", "/api/v1/pods", "", "https://a:6443/api/v1/pods"},
		{"https://a:6443/", "/api/v1/pods", "watch=1&x=%20", "https://a:6443/api/v1/pods?watch=1&x=%20"},
		{"https://a/k8s/clusters/c", "/api", "", "https://a/k8s/clusters/c/api"},
		{"https://a/k8s%2Fclusters/", "/api/v1/namespaces/a%2Fb", "", "https://a/k8s%2Fclusters/api/v1/namespaces/a%2Fb"},
		{"https://a", "/api?", "", "https://a/api?"},
	} {
		u, err := New(Options{Config: &rest.Config{Host: tt.host}})
		if err != nil {
			t.Fatal(err)
		}
		path, err := url.Parse(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Resolve(path, tt.query).String(); got != tt.want {
			t.Errorf("%s and %s: got %s, want %s", tt.host, tt.path, got, tt.want)
		}
	}
}

func TestNewRejectsWhatCannotConnect(t *testing.T) {
	for name, o := range map[string]Options{
		"address":                 {Config: &rest.Config{Host: "://"}},
		"front-proxy certificate": {Config: &rest.Config{Host: "https://a"}, FrontProxy: KeyPair{CertFile: "/none", KeyFile: "/none"}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
