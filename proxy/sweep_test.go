package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// series returns how many series name a resource, and the sum of its sluice_request_total.
func (e *env) series(t *testing.T, resource string) (n int, requests float64) {
	t.Helper()
	families, err := e.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, s := range family.GetMetric() {
			for _, l := range s.GetLabel() {
				if l.GetName() == "resource" && l.GetValue() == resource {
					n++
					if family.GetName() == "sluice_request_total" {
						requests += s.GetCounter().GetValue()
					}
				}
			}
		}
	}
	return n, requests
}

// The CRD of widgets is deleted. Gadgets are scaled only, and an extension server serves figures that its
// discovery does not name.
func TestSeriesAreDeletedWithTheirResource(t *testing.T) {
	const api = "/apis/example.com/v1/"
	var gone atomic.Bool
	var deleted chan struct{} // of the bubble
	apiserver := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == strings.TrimSuffix(api, "/"):
			names := `{"name":"gadgets/scale"}`
			if !gone.Load() {
				names += `,{"name":"widgets"}`
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"APIResourceList","resources":[%s]}`, names)
		case r.URL.Path == "/apis/metrics.example/v1":
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Query().Has("watch"):
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-deleted:
			case <-r.Context().Done():
			}
		}
	}
	run(t, drain, apiserver, func(t *testing.T, e *env) {
		deleted = make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		swept := make(chan error, 1)
		go func() { swept <- e.gateway.SweepMetrics(ctx) }()
		for _, path := range []string{api + "widgets", api + "gadgets/x/scale", "/apis/metrics.example/v1/loads"} {
			if code := e.get(t, path); code != http.StatusOK {
				t.Fatalf("%s: status %d", path, code)
			}
		}
		watch, err := e.client.Get("https://sluice" + api + "widgets?watch=1")
		if err != nil {
			t.Fatal(err)
		}
		figures := 0.0
		sweep := func() {
			for range 6 { // twice between two sweeps
				e.get(t, api+"figures")
				figures++
				time.Sleep(sweepEvery / 2)
			}
			synctest.Wait()
		}
		check := func(when string, want map[string]int) {
			t.Helper()
			for resource, want := range want {
				if n, _ := e.series(t, resource); n != want {
					t.Errorf("%s: %d series of %s, want %d", when, n, resource, want)
				}
			}
			if _, n := e.series(t, "figures"); n != figures {
				t.Errorf("%s: %v requests of figures, want %v", when, n, figures)
			}
		}
		sweep()
		check("before", map[string]int{"widgets": 5, "gadgets": 4, "loads": 4, "figures": 4})
		gone.Store(true)
		sweep()
		check("while a watch is open", map[string]int{"widgets": 5})
		close(deleted)
		_, _ = io.Copy(io.Discard, watch.Body)
		watch.Body.Close()
		synctest.Wait()
		check("when it has ended", map[string]int{"widgets": 8})
		sweep()
		check("after", map[string]int{"widgets": 0, "gadgets": 4, "loads": 4, "figures": 4})
		stop()
		if err := <-swept; err != nil {
			t.Error(err)
		}
	})
}
