package fresh

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts the proofs of recent reads.
type Metrics struct{ proofs *prometheus.CounterVec }

// NewMetrics returns metrics that are registered with r, or nowhere if r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_fence_proofs_total", Help: "Reads that needed a state proven recent, by what proved it or why none did.",
	}, []string{"proof"})}
	if r != nil {
		r.MustRegister(m.proofs)
	}
	return m
}

// Proven counts a read by what proved the state that it needed, or why it was not proven.
func (m *Metrics) Proven(by string) { m.proofs.WithLabelValues(by).Inc() }
