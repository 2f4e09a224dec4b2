package admin

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestHealthChecksRespondAsTheApiservers(t *testing.T) {
	var broken error
	ready := &Checks{}
	ready.Add("ping", func() error { return nil })
	ready.Add("upstream", func() error { return broken })
	h := Handler(Options{Live: &Checks{}, Ready: ready, Metrics: prometheus.NewRegistry()})
	get := func(target string) (int, string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Host = "127.0.0.1:9443"
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	tests := []struct {
		name, target string
		broken       error
		code         int
		body         string
	}{
		{"healthy", "/readyz", nil, 200, "ok"},
		{"verbose", "/readyz?verbose", nil, 200, "[+]ping ok\n[+]upstream ok\nreadyz check passed\n"},
		{"failure is always verbose", "/readyz", errors.New("unreachable"), 500, "[+]ping ok\n[-]upstream failed: unreachable\nreadyz check failed\n"},
		{"one check", "/readyz/ping", errors.New("unreachable"), 200, "ok"},
		{"excluded", "/readyz?verbose&exclude=upstream", errors.New("unreachable"), 200, "[+]ping ok\n[+]upstream excluded: ok\nreadyz check passed\n"},
		{"unknown check", "/readyz/nope", nil, 404, "404 page not found\n"},
		{"live", "/livez", errors.New("unreachable"), 200, "ok"},
		{"profiles are off", "/debug/pprof/", nil, 404, "404 page not found\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			broken = tt.broken
			if code, body := get(tt.target); code != tt.code || body != tt.body {
				t.Errorf("got %d %q", code, body)
			}
		})
	}
	if _, body := get("/metrics"); strings.Contains(body, "error") {
		t.Errorf("metrics: %s", body)
	}
}
