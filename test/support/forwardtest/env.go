package forwardtest

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"sluice/proxy/forward"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/upstream"
)

// OwnToken is the bearer token of Sluice. No request may carry it to the upstream, unless it names
// its user in headers.
const OwnToken = "the-token-of-sluice"

// UserKey is the context key of a user.Info that replaces Settings.User for one request.
type UserKey struct{}

// Timeout ends tests that would otherwise hang; no test measures it.
const Timeout = time.Minute

// Env is a Forwarder between a client and an upstream.
type Env struct {
	Upstream *httptest.Server
	// Received has each request at the upstream before its handler runs.
	Received chan *Received
	// Gateway serves the Forwarder.
	Gateway *httptest.Server
	// Memory counts what the clients hold.
	Memory *limits.Memory
	// Client sends requests to Gateway. It neither follows redirects nor decompresses.
	Client *http.Client
	// Ended has the Info of each request that has ended, as long as there is space.
	Ended chan *request.Info
}

// Received is a request as the upstream received it.
type Received struct {
	Proto, Method, URI, Host string
	Header                   http.Header
	Certificate              string // the common name of the client certificate
}

// Settings describe an Env. The zero value has an unauthenticated client and an upstream that
// responds with 200, both over HTTP/2.
type Settings struct {
	Handler       http.HandlerFunc // of the upstream
	Caller        request.Caller
	User          user.Info
	PassedWatch   *request.PassedWatch // nil for requests that are not to end early
	ClientHTTP1   bool
	UpstreamHTTP1 bool
	PathPrefix    string             // of the upstream's URL
	Config        func(*rest.Config) // changes the upstream's configuration
	FrontProxy    upstream.KeyPair
	HeaderNames   *upstream.HeaderNames // nil means the default
	// Seats and Unauthenticated are the places of authenticated and of other callers; the zero value means many.
	Seats, Unauthenticated Places
	// Held is what users and others may hold, in bytes; 0 means a lot.
	Held     int64
	Rejected func(*http.Request)
	Strict   bool        // transcodes nothing
	Log      *zap.Logger // nil means none
}

// Places are so many places, for which a request waits no longer than Wait.
type Places struct {
	N    int
	Wait time.Duration
}

var many = Places{1000, Timeout}

// New starts an Env that ends with the test.
func New(t *testing.T, s Settings) *Env {
	t.Helper()
	e := &Env{Received: make(chan *Received, 16), Ended: make(chan *request.Info, 16)}
	e.Upstream = e.startUpstream(t, s)
	u, err := upstream.New(upstream.Options{
		Config: e.restConfig(s), FrontProxy: s.FrontProxy, HeaderNames: cmp.Or(s.HeaderNames, upstream.DefaultHeaderNames()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	e.Memory = limits.NewMemory(2<<30, 1<<20)
	if s.Held > 0 {
		e.Memory.Users.SetTotal(s.Held)
		e.Memory.Unauthenticated.SetTotal(s.Held)
	}
	own, others := cmp.Or(s.Seats, many), cmp.Or(s.Unauthenticated, many)
	f := forward.New(forward.Options{
		Upstream: u, Log: cmp.Or(s.Log, zap.NewNop()), Transcode: !s.Strict, Lasting: e.Memory.PassedBytes,
		Queue: limits.NewQueue(own.N, 0), Unauthenticated: limits.NewQueue(others.N, 0), Wait: min(own.Wait, others.Wait), Rejected: s.Rejected,
	})
	e.Gateway = startServer(t, !s.ClientHTTP1, e.withInfo(s, f))
	e.Client = &http.Client{
		Transport:     clientTransport(t, e.Gateway, s.ClientHTTP1),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return e
}

func (e *Env) startUpstream(t *testing.T, s Settings) *httptest.Server {
	handler := s.Handler
	if handler == nil {
		handler = func(http.ResponseWriter, *http.Request) {}
	}
	return startServer(t, !s.UpstreamHTTP1, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received := &Received{Proto: r.Proto, Method: r.Method, URI: r.RequestURI, Host: r.Host, Header: r.Header.Clone()}
		if len(r.TLS.PeerCertificates) > 0 {
			received.Certificate = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		e.Received <- received
		handler(w, r)
	}))
}

// startServer starts a TLS server that accepts client certificates.
func startServer(t *testing.T, http2 bool, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = http2
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.Config.ErrorLog = zap.NewStdLog(zap.NewNop())
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (e *Env) restConfig(s Settings) *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.Upstream.Certificate().Raw})
	c := &rest.Config{
		Host:            e.Upstream.URL + s.PathPrefix,
		BearerToken:     OwnToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca},
	}
	if s.Config != nil {
		s.Config(c)
	}
	return c
}

// withInfo stands for the filters that parse and authenticate requests.
func (e *Env) withInfo(s Settings, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, _ := request.Parse(r)
		info.Caller, info.PassedWatch = s.Caller, s.PassedWatch
		ctx := request.With(r.Context(), info)
		u := s.User
		if other, ok := ctx.Value(UserKey{}).(user.Info); ok {
			u = other
		}
		info.Account = limits.Account{Ledger: e.Memory.Unauthenticated, Caller: limits.ByAddress(r.RemoteAddr)}
		if u != nil {
			info.User = u.GetName()
			ctx = apirequest.WithUser(ctx, u)
		}
		if info.Caller != request.Unauthenticated {
			info.Account = limits.Account{Ledger: e.Memory.Users, Caller: limits.ByUser(&user.DefaultInfo{Name: info.User})}
		}
		defer func() {
			select {
			case e.Ended <- info:
			default:
			}
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func clientTransport(t *testing.T, s *httptest.Server, http1 bool) *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(http1)
	protocols.SetHTTP2(!http1)
	rt := &http.Transport{
		TLSClientConfig:    s.Client().Transport.(*http.Transport).TLSClientConfig.Clone(),
		Protocols:          protocols,
		DisableCompression: true,
	}
	t.Cleanup(rt.CloseIdleConnections)
	return rt
}

// NewRequest returns a request to the gateway that ends after Timeout.
func (e *Env) NewRequest(t *testing.T, method, target string, header http.Header, body io.Reader) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, e.Gateway.URL+target, body)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	return r
}

// Do sends a request and returns the response. The test need not close its body.
func (e *Env) Do(t *testing.T, r *http.Request) *http.Response {
	t.Helper()
	resp, err := e.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// Get sends a GET request and returns the response.
func (e *Env) Get(t *testing.T, target string, header http.Header) *http.Response {
	t.Helper()
	return e.Do(t, e.NewRequest(t, http.MethodGet, target, header, nil))
}

// Next returns the next request that the upstream received.
func (e *Env) Next(t *testing.T) *Received {
	t.Helper()
	return Receive(t, e.Received, "request at the upstream")
}

// ExpectNone fails the test if the upstream received another request.
func (e *Env) ExpectNone(t *testing.T) {
	t.Helper()
	select {
	case r := <-e.Received:
		t.Errorf("upstream received %s %s", r.Method, r.URI)
	default:
	}
}

// End returns the Info of the next request that ends.
func (e *Env) End(t *testing.T) *request.Info {
	t.Helper()
	return Receive(t, e.Ended, "end of a request")
}

// Receive returns the next value of a channel. It fails the test after Timeout.
func Receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Timeout):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

// AwaitUse waits until callers hold so many bytes of a ledger.
func (e *Env) AwaitUse(t *testing.T, of *limits.Ledger, bytes int64) {
	t.Helper()
	for end := time.Now().Add(Timeout); of.Usage().Held < bytes; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("callers hold %+v", of.Usage())
		}
	}
}

// ReadAll returns what a body holds, which must end without an error.
func ReadAll(t *testing.T, r io.Reader) string {
	t.Helper()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// Abort ends a response of the upstream before its end.
func Abort(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Protocols are the combinations of protocols between client, gateway and upstream.
var Protocols = []struct {
	Name                       string
	ClientHTTP1, UpstreamHTTP1 bool
}{
	{"h2 to h2", false, false},
	{"h1 to h2", true, false},
	{"h2 to h1", false, true},
	{"h1 to h1", true, true},
}

// EachProtocol runs a test for each of Protocols, with an Env of its own.
func EachProtocol(t *testing.T, s Settings, test func(t *testing.T, e *Env)) {
	t.Helper()
	for _, p := range Protocols {
		t.Run(p.Name, func(t *testing.T) {
			s.ClientHTTP1, s.UpstreamHTTP1 = p.ClientHTTP1, p.UpstreamHTTP1
			test(t, New(t, s))
		})
	}
}
