package handshake

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of all listeners.
type Metrics struct{ errors *prometheus.CounterVec }

// NewMetrics registers the metrics with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_tls_handshake_errors_total",
		Help: `TLS handshakes of clients that failed, at the listener "api", "admin" or "proxy": "closed", "timeout" or ` +
			`"rejected" by the client, "not-tls", "mismatched" (no version or algorithm in common).`,
	}, []string{"listener", "reason"})}
	r.MustRegister(m.errors)
	return m
}

func (m *Metrics) failed(listener, reason string) {
	if m != nil {
		m.errors.WithLabelValues(listener, reason).Inc()
	}
}
