package admin

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// A browser sends the name in the address bar, also after DNS rebinding.
func TestUnknownHostsAreRefused(t *testing.T) {
	h := Handler(Options{
		Live: &Checks{}, Ready: &Checks{}, Metrics: prometheus.NewRegistry(), Profiling: true, Hosts: []string{"Metrics.example"},
	})
	for _, tt := range []struct {
		host string
		ok   bool
	}{
		{"127.0.0.1:9443", true}, {"10.1.2.3", true}, {"[::1]:9443", true}, {"[::1]", true}, {"localhost:9443", true},
		{"LOCALHOST", true}, {"metrics.example:9443", true}, {"metrics.example.", true},
		{"attacker.example:9443", false}, {"127.0.0.1.attacker.example", false}, {"localhost.attacker.example", false},
		{"", false}, {":9443", false}, {"127.0.0.1@attacker.example", false},
	} {
		for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/cmdline"} {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = tt.host
			h.ServeHTTP(w, r)
			if ok := w.Code == http.StatusOK; ok != tt.ok || !ok && w.Code != http.StatusMisdirectedRequest {
				t.Errorf("%s at %q: %d", path, tt.host, w.Code)
			}
		}
	}
}
