package limits

import "github.com/prometheus/client_golang/prometheus"

var (
	descHeld = prometheus.NewDesc("sluice_held_bytes", `Memory that callers hold, by estimate: "users" or "unauthenticated callers".`,
		[]string{"ledger"}, nil)
	descTotal   = prometheus.NewDesc("sluice_held_limit_bytes", "Memory that there is for callers.", []string{"ledger"}, nil)
	descLargest = prometheus.NewDesc("sluice_held_largest_bytes", "Memory of the group of callers that holds most.",
		[]string{"ledger"}, nil)
	descRefused = prometheus.NewDesc("sluice_held_refused_total", "Refusals for want of memory.",
		[]string{"ledger"}, nil)
	descRevoked = prometheus.NewDesc("sluice_held_revoked_total",
		"Connections, watches and responses ended in favor of lighter callers, or of the process.", []string{"ledger"}, nil)
)

// Describe implements prometheus.Collector.
func (m *Memory) Describe(ch chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(m, ch)
}

// Collect implements prometheus.Collector.
func (m *Memory) Collect(ch chan<- prometheus.Metric) {
	for name, l := range m.ledgers() {
		u := l.Usage()
		ch <- prometheus.MustNewConstMetric(descHeld, prometheus.GaugeValue, float64(u.Held), name)
		ch <- prometheus.MustNewConstMetric(descTotal, prometheus.GaugeValue, float64(u.Total), name)
		ch <- prometheus.MustNewConstMetric(descLargest, prometheus.GaugeValue, float64(u.Largest), name)
		ch <- prometheus.MustNewConstMetric(descRefused, prometheus.CounterValue, float64(u.Refused), name)
		ch <- prometheus.MustNewConstMetric(descRevoked, prometheus.CounterValue, float64(u.Ended), name)
	}
}

// The names of the ledgers.
const (
	UsersLedger           = "users"
	UnauthenticatedLedger = "unauthenticated callers"
)

func (m *Memory) ledgers() map[string]*Ledger {
	return map[string]*Ledger{UsersLedger: m.Users, UnauthenticatedLedger: m.Unauthenticated}
}

// Heaviest returns the group of callers that holds most of a ledger; empty if nobody holds anything.
func (m *Memory) Heaviest(ledger string) string { return m.ledgers()[ledger].Usage().Heaviest }

var _ prometheus.Collector = (*Memory)(nil)

// HandshakeMetrics are the metrics of the TLS handshakes at all listeners.
type HandshakeMetrics struct{ errors *prometheus.CounterVec }

// NewHandshakeMetrics registers the metrics with r.
func NewHandshakeMetrics(r prometheus.Registerer) *HandshakeMetrics {
	m := &HandshakeMetrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_tls_handshake_errors_total",
		Help: `TLS handshakes of clients that failed, at the listener "api", "admin" or "proxy". The log says why.`,
	}, []string{"listener"})}
	r.MustRegister(m.errors)
	return m
}
