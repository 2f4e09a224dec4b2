package forward_test

import (
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

// BenchmarkForwardOverHTTP2 is the latency of a small list, and of a large one that the upstream writes in
// pieces as kube-apiserver does, with a client over HTTP/2: of the upstream itself, behind the bare reverse
// proxy, and behind a Forwarder.
func BenchmarkForwardOverHTTP2(b *testing.B) {
	for name, pieces := range map[string]int{"30KB": 1, "8MB": 2000} {
		b.Run(name, func(b *testing.B) { benchmarkOverHTTP2(b, pieces) })
	}
}

func benchmarkOverHTTP2(b *testing.B, pieces int) {
	start := func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.EnableHTTP2 = true
		s.StartTLS()
		b.Cleanup(s.Close)
		return s
	}
	piece := make([]byte, 30_000)
	if pieces > 1 {
		piece = piece[:4<<10]
	}
	server := start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		for range pieces {
			_, _ = w.Write(piece)
		}
	}))
	u, err := upstream.New(upstream.Options{
		Config:      &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
		HeaderNames: upstream.DefaultHeaderNames(),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(u.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		b.Fatal(err)
	}
	forwarder := forward.New(forward.Options{
		Upstream: u, Log: zap.NewNop(), Transcode: true, Queue: limits.NewQueue(1000, 0), Unauthenticated: limits.NewQueue(1000, 0), Wait: time.Minute,
	})
	for _, target := range []struct {
		name   string
		server *httptest.Server
	}{
		{"upstream", server},
		{"bare", start(&httputil.ReverseProxy{Transport: u.Authenticated, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }})},
		{"sluice", start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			info, err := request.Parse(r)
			if err != nil {
				b.Error(err)
			}
			info.Caller, info.User = request.BearerToken, "jane"
			ctx := apirequest.WithUser(request.With(r.Context(), info), &user.DefaultInfo{Name: info.User})
			forwarder.ServeHTTP(w, r.WithContext(ctx))
		}))},
	} {
		b.Run(target.name, func(b *testing.B) {
			client := target.server.Client()
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, target.server.URL+"/api/v1/pods?fieldSelector=spec.nodeName%3Dx", nil)
				if err != nil {
					b.Fatal(err)
				}
				r.Header = http.Header{"Accept": {"application/vnd.kubernetes.protobuf"}, "Authorization": {"Bearer x"}, "Accept-Encoding": {"gzip"}}
				resp, err := client.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					b.Fatal(err)
				}
				_ = resp.Body.Close()
			}
		})
	}
}
