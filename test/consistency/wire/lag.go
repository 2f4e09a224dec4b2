package wire

import (
	"context"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Lag is an HTTP proxy that holds back watches. Its methods may be used
// concurrently.
type Lag struct {
	server      *httptest.Server
	least, most atomic.Int64 // time.Duration
}

// NewLag serves over TLS on a loopback port what is found at base. Close must
// be called.
func NewLag(base *url.URL, transport http.RoundTripper) *Lag {
	g := &Lag{}
	proxy := Proxy(base, transport)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.StatusCode == http.StatusOK && watches(r.Request) {
			r.Body = g.hold(r.Body)
		}
		return nil
	}
	g.server = Serve(proxy)
	return g
}

// watches reports whether a request is a watch, as those of clients are
// written.
func watches(r *http.Request) bool {
	w := r.URL.Query().Get("watch")
	return w == "1" || w == "true"
}

// Server is where the proxy is to be found.
func (g *Lag) Server() *httptest.Server { return g.server }

// Set makes each watch late by a time of its own between the given ones.
func (g *Lag) Set(least, most time.Duration) {
	g.least.Store(int64(least))
	g.most.Store(int64(most))
}

// Close ends the proxy and its connections.
func (g *Lag) Close() {
	g.server.CloseClientConnections()
	g.server.Close()
}

// Proxy is a reverse proxy that hands on requests as they are and answers as
// they come. A failure upstream is one of the connection.
func Proxy(base *url.URL, transport http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      silent,
	}
}

// Serve serves a handler over TLS and HTTP/2 on a loopback port.
func Serve(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = silent
	s.StartTLS()
	return s
}

// silent takes what proxies say about the faults that they are there for.
var silent = log.New(io.Discard, "", 0)

// held is a body that is late.
type held struct {
	lag    *Lag
	part   float64 // of the way from the least to the most lag
	body   io.ReadCloser
	queue  *queue
	ctx    context.Context
	cancel context.CancelFunc
	filled sync.WaitGroup
	rest   []byte // of the last chunk
}

func (g *Lag) hold(body io.ReadCloser) io.ReadCloser {
	h := &held{lag: g, part: rand.Float64(), body: body, queue: newQueue()}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.filled.Go(func() { h.queue.fill(h.ctx, body) })
	return h
}

func (h *held) delay() time.Duration {
	least, most := h.lag.least.Load(), h.lag.most.Load()
	return time.Duration(least) + time.Duration(h.part*float64(most-least))
}

func (h *held) Read(p []byte) (int, error) {
	if len(h.rest) == 0 {
		var err error
		if h.rest, err = h.queue.take(h.ctx, h.delay); err != nil {
			return 0, err
		}
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

func (h *held) Close() error {
	h.cancel()
	err := h.body.Close()
	h.filled.Wait()
	return err
}
