package wire

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Lag delays watches. Its methods may be used concurrently.
type Lag struct{ min, max atomic.Int64 } // time.Duration

// Front is the function of this name with a proxy that delays watches.
func (g *Lag) Front(t testing.TB, to *rest.Config) *rest.Config {
	t.Helper()
	_, through := Front(t, to, func(proxy *httputil.ReverseProxy) http.Handler {
		proxy.ModifyResponse = func(r *http.Response) error {
			if r.StatusCode == http.StatusOK && IsWatch(r.Request) {
				r.Body = g.delay(r.Body)
			}
			return nil
		}
		return proxy
	})
	return through
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
		_ = out.CloseWithError(copyLater(ctx, out.Write, body, func() time.Duration {
			shortest, longest := g.min.Load(), g.max.Load()
			return time.Duration(shortest) + time.Duration(share*float64(longest-shortest))
		}))
	}()
	return delayedBody{in, func() error { cancel(); return body.Close() }}
}
