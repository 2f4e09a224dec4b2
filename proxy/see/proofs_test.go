package see

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/cache/fence"
)

func TestProofsShowWhatFencesKnow(t *testing.T) {
	p := newProcess(false)
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sluice_proof_duration_seconds", Buckets: []float64{.1, 1}}, []string{"proof"})
	reads := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_fence_proofs_total"}, []string{"proof"})
	ages := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sluice_served_staleness_seconds", Buckets: []float64{1, 60}}, []string{"proof"})
	p.registry.MustRegister(took, reads, ages)
	ages.WithLabelValues("any-version").Observe(70)
	ages.WithLabelValues("roll-call")
	reads.WithLabelValues("small-read").Add(7)
	reads.WithLabelValues("roll-call").Add(4)
	for _, seconds := range []float64{.05, .05, .5, 5} {
		took.WithLabelValues("roll-call").Observe(seconds)
	}
	p.options.Fences = func(do func(string, fence.Report)) {
		do("unknown.v1", fence.Report{})
		do("pods.v1", fence.Report{
			Stats: fence.Stats{Probes: 5, Inventories: 2, Forwarded: 7, Seconds: 1.5, Uncharged: .5},
			Facts: fence.Facts{Doubtful: true, Stalled: true}, Proven: map[fence.Proof]int{fence.ByInventory: 4},
			Last: fence.LastProof{Proof: fence.ByInventory, At: time.Now().Add(-time.Hour), Took: 40 * time.Millisecond},
		})
	}
	cells := p.cells(t, "/proofs")
	for key, want := range map[string]string{
		"pods.v1/last": "roll-call", "pods.v1/ago": seconds(3600), "pods.v1/took": seconds(.04), "pods.v1/roll-call": "4", "pods.v1/probes": "5",
		"pods.v1/passed": "7", "pods.v1/cpu": seconds(2), "pods.v1/proven": seconds(.009), "reports.v1.sbom.example/last": "none yet",
		"reports.v1.sbom.example/doubts": "it is not in sync", "roll-call/kind/reads": "4", "roll-call/kind/p50": seconds(.1),
		"roll-call/kind/p99": seconds(1), "small-read/kind/reads": "7", "small-read/kind/p50": "–",
		"any-version/age/reads": "1", "any-version/age/p99": seconds(60), "roll-call/age/reads": "",
	} {
		if cells[key] != want {
			t.Errorf("%s is %q, want %q", key, cells[key], want)
		}
	}
	if doubts := cells["pods.v1/doubts"]; !strings.Contains(doubts, "watch is away") || !strings.Contains(doubts, "waited in vain") {
		t.Errorf("doubts: %q", doubts)
	}
	var status Status
	if err := json.Unmarshal(p.get(t, "/see/v1alpha1/status").Body.Bytes(), &status); err != nil {
		t.Fatal(err)
	}
	if r := status.Resources[0].Proofs; r == nil || r.Reads[fence.ByInventory] != 4 || len(r.Doubts) != 2 || len(status.Facts.Proofs) != 2 {
		t.Errorf("JSON: %+v, %+v", r, status.Facts.Proofs)
	}
	if status.Verdict.State != stateStalled {
		t.Errorf("after a read that waited in vain it is %s", status.Verdict.State)
	}
}
