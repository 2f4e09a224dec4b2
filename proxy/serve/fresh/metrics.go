package fresh

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/proxy/serve/outcome"
	"sluice/proxy/slo"
)

// provenWithin is the time within which a state is to be proven.
const provenWithin = time.Second

// Metrics counts the proofs of recent reads.
type Metrics struct {
	proofs    *prometheus.CounterVec
	durations *prometheus.HistogramVec
	objective slo.Objective
}

// NewMetrics returns metrics that are registered with r, or nowhere if r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		proofs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_fence_proofs_total",
			Help: "Reads that needed a state proven recent, by the proof, or the reason for none.",
		}, []string{"proof"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_proof_duration_seconds",
			Help: "Time from the start of a read that needed a proof until its state was proven, or until it was given up " +
				`("not-proven-in-time").`,
			Buckets:                     []float64{.001, .005, .01, .025, .05, .1, .25, .5, provenWithin.Seconds(), 2, 3},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{"proof"}),
		objective: slo.New(r, "proof"),
	}
	if r != nil {
		r.MustRegister(m.proofs, m.durations)
	}
	return m
}

// Proofs counts the proofs of one read.
type Proofs struct {
	metrics *Metrics
	began   time.Time
}

// Since returns the Proofs of a read that began at a time.
func (m *Metrics) Since(began time.Time) Proofs { return Proofs{m, began} }

// Proven counts a read by the proof of its state, or by the reason for none. A read that passes because that
// costs less, or because no proof can help it, has not waited in vain.
func (p Proofs) Proven(by string) {
	p.metrics.proofs.WithLabelValues(by).Inc()
	switch outcome.Pass(by) {
	case outcome.SmallRead, outcome.ConsistentGet, outcome.VersionNotReached, outcome.VersionBeforeHistory:
		return
	}
	took := time.Since(p.began)
	p.metrics.durations.WithLabelValues(by).Observe(took.Seconds())
	p.metrics.objective.Count(took <= provenWithin && outcome.Pass(by) != outcome.NotProvenInTime)
}
