package forward_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"

	"sluice/proxy/forward"
	"sluice/proxy/forward/transcode"
	"sluice/proxy/request"
	"sluice/proxy/upstream"
)

// discard is a client that takes everything.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
func (discard) Flush()                      {}

// BenchmarkForwardSmallRead is what forwarding a small read costs beside the bare reverse proxy of
// net/http, each with the upstream's own work.
func BenchmarkForwardSmallRead(b *testing.B) {
	object := make([]byte, 5000)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(object)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	u, err := upstream.New(upstream.Options{
		Config:      &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
		HeaderNames: upstream.DefaultHeaderNames(),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer u.Close()
	base, err := url.Parse(server.URL)
	if err != nil {
		b.Fatal(err)
	}
	bare := &httputil.ReverseProxy{Transport: u.Authenticated, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }}
	for name, h := range map[string]http.Handler{
		"bare": bare, "sluice": forward.New(forward.Options{Upstream: u, Log: zap.NewNop(), Transcoder: transcode.New()}),
	} {
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
