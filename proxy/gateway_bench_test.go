package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"sluice/proxy/request"
	"sluice/proxy/why"
)

// BenchmarkEndOfHTTP2 shows what the deadline for the end of each response costs: a message to the goroutine of the
// connection, and a timer.
func BenchmarkEndOfHTTP2(b *testing.B) {
	respond := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<10)) })
	for name, handler := range map[string]http.HandlerFunc{
		"none": respond.ServeHTTP,
		"deadline": func(w http.ResponseWriter, r *http.Request) {
			respond(w, r)
			end(w, r)
		},
	} {
		b.Run(name, func(b *testing.B) {
			s := httptest.NewUnstartedServer(handler)
			s.EnableHTTP2 = true
			s.StartTLS()
			defer s.Close()
			client, before := s.Client(), processCPU(b)
			for b.Loop() {
				resp, err := client.Get(s.URL)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			b.ReportMetric(float64(processCPU(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processCPU returns what the process has used of processors.
func processCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAccessLog shows what metrics, log and the table of clients cost a list.
func BenchmarkAccessLog(b *testing.B) {
	body := make([]byte, 64<<10)
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		info.User, info.Caller = "system:serviceaccount:argocd:application-controller", request.BearerToken
		info.Outcome = request.Outcome{Source: request.SourceCache, Reason: "any-version", Format: "json"}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	h := chain(inner, withRequestInfo, withAccessLog(zap.NewNop(), NewMetrics(prometheus.NewRegistry()), new(accessOptions), new(why.Ring)))
	r := httptest.NewRequest("GET", "/api/v1/pods?resourceVersion=0", nil)
	r.Header.Set("User-Agent", "argocd-application-controller/v0.0.0 (linux/amd64) kubernetes/$Format")
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}

// discard is a ResponseWriter that writes nowhere.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}
