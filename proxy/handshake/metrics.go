package handshake

import (
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"sluice/proxy/flood"
)

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

// Failed returns a function that counts and logs the failures of a listener. A nil Metrics only logs them.
func (m *Metrics) Failed(listener string, log *zap.Logger) func(c net.Conn, err error) {
	failures := flood.Sampled(log)
	return func(c net.Conn, err error) {
		reason := reasonOf(err)
		if m != nil {
			m.errors.WithLabelValues(listener, reason).Inc()
		}
		failures.Info("TLS handshake failed", zap.Stringer("remote", c.RemoteAddr()), zap.String("reason", reason), zap.Error(err))
	}
}
