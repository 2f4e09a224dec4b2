package fresh_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/proxy/serve/fresh"
)

func TestReadsThatWaitInVainMissTheirObjective(t *testing.T) {
	tests := []struct {
		by          string
		after       time.Duration
		met, missed float64
	}{
		{"own-watch", time.Second, 1, 0},
		{"own-watch", 1100 * time.Millisecond, 0, 1},
		{"not-proven-in-time", 0, 0, 1}, // at once, since the last proof has failed
		{"small-read", 2 * time.Second, 0, 0},
		{"version-not-reached", fresh.ProofLimit, 0, 0}, // the client asks for the future
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			proofs := fresh.NewMetrics(registry).Since(time.Now())
			time.Sleep(tt.after)
			proofs.Proven(tt.by)
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			counted := map[string]float64{}
			for _, f := range families {
				for _, m := range f.GetMetric() {
					if f.GetName() == "sluice_slo_requests_total" {
						counted[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
					}
				}
			}
			if counted["met"] != tt.met || counted["missed"] != tt.missed {
				t.Errorf("%s after %v: %v", tt.by, tt.after, counted)
			}
		})
	}
}
