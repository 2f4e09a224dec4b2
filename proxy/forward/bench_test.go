package forward_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
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

// discard is a client that takes everything.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
func (discard) Flush()                      {}

// memory is an upstream without a connection.
type memory func(*http.Request) (*http.Response, error)

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) { return m(r) }

// BenchmarkForwardSmallRead is what forwarding a small list costs beside the bare reverse proxy of
// net/http, each without connections.
func BenchmarkForwardSmallRead(b *testing.B) {
	object := make([]byte, 5000)
	u, err := upstream.New(upstream.Options{
		Config: &rest.Config{Host: "https://apiserver"}, HeaderNames: upstream.DefaultHeaderNames(),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer u.Close()
	u.Authenticated = memory(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(bytes.NewReader(object)), ContentLength: -1, Request: r,
		}, nil
	})
	base := &url.URL{Scheme: "https", Host: "apiserver"}
	bare := &httputil.ReverseProxy{Transport: u.Authenticated, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }}
	for name, h := range map[string]http.Handler{"bare": bare, "sluice": forward.New(forward.Options{
		Upstream: u, Log: zap.NewNop(), Transcode: true, Queue: limits.NewQueue(1000, 0), Unauthenticated: limits.NewQueue(1000, 0), Wait: time.Minute,
	})} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/api/v1/pods?fieldSelector=spec.nodeName%3Dx", nil)
				r.Header = http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer x"}, "User-Agent": {"benchmark"}}
				info, err := request.Parse(r)
				if err != nil {
					b.Fatal(err)
				}
				info.Caller, info.User = request.BearerToken, "jane"
				ctx := apirequest.WithUser(request.With(r.Context(), info), &user.DefaultInfo{Name: info.User})
				h.ServeHTTP(discard{http.Header{}}, r.WithContext(ctx))
			}
		})
	}
}
