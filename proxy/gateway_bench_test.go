package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"
)

// BenchmarkEndOfHTTP2 shows what the deadline for the end of each response costs: a message to the goroutine of the
// connection, and a timer.
func BenchmarkEndOfHTTP2(b *testing.B) {
	respond := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<10)) })
	for name, handler := range map[string]http.HandlerFunc{
		"none": respond.ServeHTTP,
		"deadline": func(w http.ResponseWriter, r *http.Request) {
			respond(w, r)
			endHTTP2(w, r)
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
