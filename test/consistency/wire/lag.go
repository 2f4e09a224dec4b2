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
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Lag delays watches. Its methods may be used concurrently.
type Lag struct{ min, max atomic.Int64 } // time.Duration

// Front is the function of this name with a proxy that delays watches.
func (g *Lag) Front(t testing.TB, to *rest.Config) (*httptest.Server, *rest.Config) {
	t.Helper()
	return Front(t, to, func(proxy *httputil.ReverseProxy) http.Handler {
		proxy.ModifyResponse = func(r *http.Response) error {
			if r.StatusCode == http.StatusOK && isWatch(r.Request) {
				r.Body = g.delay(r.Body)
			}
			return nil
		}
		return proxy
	})
}

// isWatch reports whether a request is a watch, in the spelling of the clients of this test.
func isWatch(r *http.Request) bool {
	w := r.URL.Query().Get("watch")
	return w == "1" || w == "true"
}

// Set delays each watch by a time of its own between shortest and longest.
func (g *Lag) Set(shortest, longest time.Duration) {
	g.min.Store(int64(shortest))
	g.max.Store(int64(longest))
}

// newProxy returns a reverse proxy of base that does not change requests and does not buffer
// responses. It resets the client's stream when base fails.
func newProxy(base *url.URL, transport http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      silent,
	}
}

// Serve serves a handler with TLS and HTTP/2 on a loopback port.
func Serve(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = silent
	s.StartTLS()
	return s
}

// silent discards log lines about the intended faults.
var silent = log.New(io.Discard, "", 0)

// delayedBody is the body of a watch.
type delayedBody struct {
	lag    *Lag
	share  float64 // of the way from the shortest to the longest delay
	body   io.ReadCloser
	queue  *queue
	ctx    context.Context
	cancel context.CancelFunc
	filled sync.WaitGroup
	rest   []byte // of the last chunk
}

func (g *Lag) delay(body io.ReadCloser) io.ReadCloser {
	h := &delayedBody{lag: g, share: rand.Float64(), body: body, queue: newQueue()}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.filled.Go(func() { h.queue.fill(h.ctx, body) })
	return h
}

func (h *delayedBody) delay() time.Duration {
	shortest, longest := h.lag.min.Load(), h.lag.max.Load()
	return time.Duration(shortest) + time.Duration(h.share*float64(longest-shortest))
}

func (h *delayedBody) Read(p []byte) (int, error) {
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

func (h *delayedBody) Close() error {
	h.cancel()
	err := h.body.Close()
	h.filled.Wait()
	return err
}
