package wire

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// The faults of a Link show in the test of them. A gateway answers too early also without a Lag, only more rarely.
func TestLagDelaysWatchesOnly(t *testing.T) {
	origin := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("text")) }))
	defer origin.Close()
	lag := &Lag{}
	lag.Set(time.Hour, time.Hour)
	raw, err := harness.NewRawClient(lag.Front(t, &rest.Config{Host: origin.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for path, limit := range map[string]time.Duration{"/things?watch=1": 100 * time.Millisecond, "/things?limit=1": time.Minute} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		if a, err := raw.Get(ctx, path, ""); (err == nil) != (limit == time.Minute) {
			t.Errorf("%s: %+v, %v", path, a, err)
		}
	}
}
