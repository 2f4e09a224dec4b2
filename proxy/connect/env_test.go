package connect

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"sluice/config"
	"sluice/proxy/limits"
	"sluice/test/support/proxytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env is a Proxy on in-memory connections, in virtual time. The API behind it echoes.
type env struct {
	*testing.T
	proxy    *Proxy
	listener *proxytest.Listener // of the proxy
	api      net.Listener        // of the API
	served   chan error          // what Serve returned
}

// ledger returns accounts with room for so many unauthenticated connections.
func places(unauthenticated int) *limits.Memory {
	m := limits.NewMemory(1<<30, 1<<20)
	m.UnauthenticatedConnections = unauthenticated
	return m
}

func run(t *testing.T, change func(*Options), test func(e *env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		file := &config.File{}
		file.Default()
		o := Options{
			Hosts:  destinations(t, "kubernetes.default.svc:443", "10.0.0.1:6443", "[2001:db8::1]:443"),
			Limits: file.Limits, Memory: places(100),
			Log: zap.NewNop(), Metrics: NewMetrics(prometheus.NewRegistry()),
		}
		if change != nil {
			change(&o)
		}
		e := &env{T: t, proxy: New(o), listener: proxytest.NewListener(), served: make(chan error, 1)}
		e.api = e.proxy.Merge(proxytest.NewListener())
		go echo(limits.Listen(e.api, limits.ListenerOptions{Memory: o.Memory}))
		go func() { e.served <- e.proxy.Serve(e.listener, nil) }()
		test(e)
		_ = e.api.Close()
		if err := <-e.served; err != nil {
			t.Error(err)
		}
	})
}

func destinations(t *testing.T, list ...string) (all []config.Destination) {
	for _, s := range list {
		d, err := config.ParseDestination(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// echo returns to each client what it sends.
func echo(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_, _ = io.Copy(c, c)
		}()
	}
}

// client is a connection to the proxy.
type client struct {
	*env
	net.Conn
	r *bufio.Reader
}

func (e *env) dial() *client {
	c, err := e.listener.Dial(e.Context(), "", "")
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = c.Close() })
	return &client{e, c, bufio.NewReader(c)}
}

// send writes a request, and more after it in the same piece, and returns the response. A request that
// the server rejects before it has read everything must not block.
func (c *client) send(request string) *http.Response {
	go func() { _, _ = io.WriteString(c.Conn, request) }()
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.Fatalf("%.60q: %v", request, err)
	}
	return resp
}

// connect sends a CONNECT and returns the connection with its status and reason phrase.
func (e *env) connect(target string, header ...string) (*client, *http.Response) {
	c := e.dial()
	return c, c.send("CONNECT " + target + " HTTP/1.1\r\nHost: x\r\n" + strings.Join(append(header, ""), "\r\n") + "\r\n")
}

// echoes checks that the other end echoes.
func (c *client) echoes() error {
	if _, err := io.WriteString(c.Conn, "ping"); err != nil {
		return err
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(c.r, got); err != nil {
		return err
	}
	if string(got) != "ping" {
		return errors.New("got " + string(got))
	}
	return nil
}

func (e *env) decided(decision string, want float64) {
	e.Helper()
	synctest.Wait() // the proxy counts a connection after it has handed it over
	if got := testutil.ToFloat64(e.proxy.options.Metrics.connections.WithLabelValues(decision)); got != want {
		e.Errorf("%v connections are %s, want %v", got, decision, want)
	}
}
