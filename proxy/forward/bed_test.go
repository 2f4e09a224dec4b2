package forward

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"sluice/proxy/request"
	"sluice/proxy/upstream"
)

// ownToken is Sluice's: no request of a caller may carry it, unless it names
// the caller too.
const ownToken = "the-token-of-sluice"

// patience ends tests that would otherwise hang; none measures time.
const patience = time.Minute

// bed is a Forwarder between a client and an upstream that does what the test
// tells it.
type bed struct {
	upstream  *httptest.Server
	got       chan *seen // what the upstream was asked, before it answers
	front     *httptest.Server
	forwarder *Forwarder
	client    *http.Client
	log       *observer.ObservedLogs
	info      chan *request.Info // of each request that is over
}

// seen is a request as the upstream got it.
type seen struct {
	Proto, Method, URI, Host string
	Header                   http.Header
	Certificate              string // the common name of the client's
}

// setting is what a bed is made of; the zero value is an h2 client that is not
// known, and an h2 upstream that answers 200.
type setting struct {
	handler     http.HandlerFunc
	caller      request.Caller
	who         user.Info
	http1       bool // at the client's side
	http1Behind bool // at the upstream's
	prefix      string
	config      func(*rest.Config)
	frontProxy  upstream.KeyPair
	strict      bool
	now         func() time.Time
}

func newBed(t *testing.T, s setting) *bed {
	t.Helper()
	b := &bed{got: make(chan *seen, 16), info: make(chan *request.Info, 16)}
	b.upstream = b.startUpstream(t, s)
	core, logs := observer.New(zap.DebugLevel)
	b.log = logs
	u, err := upstream.New(upstream.Options{Config: b.restConfig(s), FrontProxy: s.frontProxy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	b.forwarder = New(Options{Upstream: u, Log: zap.New(core), Strict: s.strict, Now: s.now})
	b.front = startServer(t, !s.http1, b.gate(s, b.forwarder))
	b.client = &http.Client{
		Transport:     clientTransport(t, b.front, s.http1),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return b
}

func (b *bed) startUpstream(t *testing.T, s setting) *httptest.Server {
	handler := s.handler
	if handler == nil {
		handler = func(http.ResponseWriter, *http.Request) {}
	}
	return startServer(t, !s.http1Behind, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := &seen{Proto: r.Proto, Method: r.Method, URI: r.RequestURI, Host: r.Host, Header: r.Header.Clone()}
		if len(r.TLS.PeerCertificates) > 0 {
			got.Certificate = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		b.got <- got
		handler(w, r)
	}))
}

// startServer starts a TLS server that takes certificates from clients.
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

func (b *bed) restConfig(s setting) *rest.Config {
	c := &rest.Config{
		Host:            b.upstream.URL + s.prefix,
		BearerToken:     ownToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: authority(b.upstream)},
	}
	if s.config != nil {
		s.config(c)
	}
	return c
}

func authority(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// gate stands for the filters that find out who calls.
func (b *bed) gate(s setting, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, _ := request.Parse(r)
		info.Caller = s.caller
		ctx := request.With(r.Context(), info)
		if s.who != nil {
			ctx = apirequest.WithUser(ctx, s.who)
		}
		defer func() {
			select {
			case b.info <- info:
			default: // nobody wants to know
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

// request makes a request to the front whose patience is limited.
func (b *bed) request(t *testing.T, method, target string, header http.Header, body io.Reader) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, b.front.URL+target, body)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	return r
}

// do sends a request and returns the answer, whose body the test may leave.
func (b *bed) do(t *testing.T, r *http.Request) *http.Response {
	t.Helper()
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (b *bed) get(t *testing.T, target string, header http.Header) *http.Response {
	t.Helper()
	return b.do(t, b.request(t, http.MethodGet, target, header, nil))
}

// next returns the request that the upstream got.
func (b *bed) next(t *testing.T) *seen {
	t.Helper()
	return receive(t, b.got, "a request at the upstream")
}

// nothing fails if the upstream was asked.
func (b *bed) nothing(t *testing.T) {
	t.Helper()
	select {
	case got := <-b.got:
		t.Errorf("upstream was asked for %s %s", got.Method, got.URI)
	default:
	}
}

func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("there was not %s", what)
		panic("unreachable")
	}
}

func text(t *testing.T, r io.Reader) string {
	t.Helper()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// withPrefix returns the headers whose names have one of the prefixes.
func withPrefix(h http.Header, prefixes ...string) http.Header {
	some := http.Header{}
	for name, values := range h {
		for _, p := range prefixes {
			if strings.HasPrefix(strings.ToLower(name), strings.ToLower(p)) {
				some[name] = values
			}
		}
	}
	return some
}

// sides are the protocols that a request may take on its way.
var sides = []struct {
	name        string
	http1       bool
	http1Behind bool
}{
	{"h2 to h2", false, false},
	{"h1 to h2", true, false},
	{"h2 to h1", false, true},
	{"h1 to h1", true, true},
}

// free is how much of a room is left.
func free(r *room) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left
}

func requestInfo() *apirequest.RequestInfo {
	return &apirequest.RequestInfo{APIGroup: "lab.example.com", APIVersion: "v1"}
}
