package wire

import (
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
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
			if r.StatusCode == http.StatusOK && IsWatch(r.Request) {
				r.Body = g.delay(r.Body)
			}
			return nil
		}
		return proxy
	})
}

// IsWatch reports whether a request is a watch, in the spelling of the clients of this test.
func IsWatch(r *http.Request) bool {
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
	*io.PipeReader
	end func() error
}

// Close implements io.Closer.
func (b delayedBody) Close() error { return errors.Join(b.PipeReader.Close(), b.end()) }

func (g *Lag) delay(body io.ReadCloser) io.ReadCloser {
	share := rand.Float64() // of the way from the shortest to the longest delay
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	go func() {
		_ = out.CloseWithError(copyLater(ctx, out, body, func() time.Duration {
			shortest, longest := g.min.Load(), g.max.Load()
			return time.Duration(shortest) + time.Duration(share*float64(longest-shortest))
		}))
	}()
	return delayedBody{in, func() error { cancel(); return body.Close() }}
}
