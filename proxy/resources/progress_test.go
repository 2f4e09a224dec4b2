package resources

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"sluice/test/support/fake"
)

// The budget of passed lists counts this estimate of their size. The first object alone may be much smaller than the others.
func TestABrokenFillEstimatesTheSizeByAllThatItHasRead(t *testing.T) {
	d := fake.ConfigMaps
	const length = 1000
	first := fmt.Appendf(nil, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1","remainingItemCount":%d},"items":[{}]}`, length-1)
	for _, tt := range []struct {
		name  string
		steps []step
		most  int64
	}{
		{"NothingIsRead", []step{{"watchlist", d.Cut()}}, length * int64(len(first))},
		{"SomeIsRead", []step{{"watchlist", d.Cut(d.Added("a/x@3"), d.Added("a/y@4"))}}, length * 250},
		{"NothingIsReadAgain", []step{{"watchlist", d.Cut(d.Added("a/x@3"), d.Added("a/y@4"))}, {"watchlist", d.Cut()}}, length * 250},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var steps []step
			for _, s := range tt.steps {
				steps = append(steps, step{"first list", fake.Body("application/json", first)}, s)
			}
			steps = append(steps, step{"first list", fake.Refuse(http.StatusServiceUnavailable, "Retry-After", "30")})
			run(t, d, Options{}, steps, func(t *testing.T, e *env) {
				e.lookup()
				pass(20 * time.Second)
				e.CheckPlayed(t)
				bytes := e.registry.Progress(d.GVR).Bytes
				if least := tt.most / 2; bytes < least || bytes > tt.most {
					t.Errorf("%d bytes, want %d to %d", bytes, least, tt.most)
				}
			})
		})
	}
}
