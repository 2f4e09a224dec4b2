package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"sluice/cache/tree"
	"sluice/config"
	"sluice/proxy/auth"
	"sluice/proxy/certs"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/resources"
	"sluice/proxy/upstream"
	"sluice/test/support/proxytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env is a Gateway that serves over TLS on in-memory connections, in front of a fake apiserver. No
// caller is authenticated, so it forwards every request.
type env struct {
	gateway  *Gateway
	listener *proxytest.Listener
	log      *observer.ObservedLogs
	metrics  *prometheus.Registry
	tls      *tls.Config // of clients
	client   *http.Client
	shutdown func()        // begins the shutdown
	stopped  chan struct{} // closed when Serve has returned
	took     time.Duration // from the begin of the shutdown until then
}

func drainOf(delay, grace time.Duration) config.Shutdown {
	return config.Shutdown{Delay: metav1.Duration{Duration: delay}, Grace: metav1.Duration{Duration: grace}}
}

// run runs a test in a bubble of virtual time. The shutdown ends before the test does.
func run(t *testing.T, drain config.Shutdown, apiserver http.HandlerFunc, test func(t *testing.T, e *env)) {
	t.Helper()
	files, err := certs.Ensure(t.TempDir(), []string{"sluice"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		server := proxytest.Serve(apiserver)
		defer server.Close(t)
		u, err := upstream.New(upstream.Options{Config: &rest.Config{Host: "http://apiserver", Dial: server.Dial}})
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		e := newEnv(t, u, drain, files)
		defer func() {
			e.shutdown()
			<-e.stopped
			e.client.CloseIdleConnections()
		}()
		test(t, e)
	})
}

func newEnv(t *testing.T, u *upstream.Upstream, drain config.Shutdown, files certs.Files) *env {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	e := &env{listener: proxytest.NewListener(), log: logs, metrics: prometheus.NewRegistry(), stopped: make(chan struct{})}
	review, err := u.Reviews(u.Self)
	if err != nil {
		t.Fatal(err)
	}
	file := &config.File{}
	file.Default()
	reviews, ttls := limits.NewQueue(64, 16), file.Authorization
	authenticator := auth.NewAuthenticator(auth.AuthenticatorOptions{
		Reviews: review, TokenTTL: file.Authentication.TokenTTL.Duration, Queue: reviews,
	})
	file.DebugHeaders = true
	file.Shutdown = drain
	e.gateway = New(Options{
		Config: file, Memory: limits.NewMemory(1<<40, 1<<30),
		Upstream: u, Log: zap.New(core), Metrics: NewMetrics(e.metrics), CPU: flowcontrol.NewCPU(2), Encoded: tree.NewBudget(0),
		Access: &auth.Access{Authenticator: authenticator, Authorizer: auth.NewAuthorizer(auth.AuthorizerOptions{
			Reviews: review, AllowTTL: ttls.AllowTTL.Duration, DenyTTL: ttls.DenyTTL.Duration, Queue: reviews,
			Version: func() *version.Info { return &version.Info{GitVersion: "v1.36.0"} },
		})},
		Resources: resources.New(resources.Options{
			Upstream: u, Log: zap.NewNop(), CheckEvery: file.Cache.CheckEvery.Duration, Limits: resources.Limits{Idle: file.Cache.Idle.Duration},
		}),
	})
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	e.tls = &tls.Config{RootCAs: roots, ServerName: "sluice", Time: func() time.Time { return pair.Leaf.NotBefore }}
	e.client = &http.Client{Transport: e.transport(true)}
	certificate := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	e.serve(t, &tls.Config{GetCertificate: certificate, NextProtos: []string{"h2", "http/1.1"}})
	return e
}

// serve runs the Gateway until shutdown is called.
func (e *env) serve(t *testing.T, config *tls.Config) {
	ctx, cancel := context.WithCancel(t.Context())
	var begin time.Time
	e.shutdown = func() {
		if ctx.Err() == nil {
			begin = time.Now()
		}
		cancel()
	}
	go func() {
		defer close(e.stopped)
		if err := e.gateway.Serve(ctx, e.listener, config); err != nil {
			t.Error(err)
		}
		e.took = time.Since(begin)
	}()
}

// transport returns a transport of a client that connects to the Gateway.
func (e *env) transport(http2 bool) *http.Transport {
	t := &http.Transport{DialContext: e.listener.Dial, TLSClientConfig: e.tls.Clone(), Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP2(http2)
	t.Protocols.SetHTTP1(!http2)
	return t
}

// get sends a GET request over a new connection and returns the status code, 0 if that fails.
func (e *env) get(t *testing.T, path string) int {
	t.Helper()
	transport := e.transport(true)
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("https://sluice" + path)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}
