package audit

import "github.com/prometheus/client_golang/prometheus"

// The values of the label result.
const (
	written = "written"
	dropped = "dropped" // the queue was full
	failed  = "failed"  // the file could not be written
)

// Metrics counts the events of the audit log.
type Metrics struct{ events *prometheus.CounterVec }

// NewMetrics registers the metrics with r, unless r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{events: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_audit_events_total",
		Help: `Events of the audit log: "written", "dropped" because the queue was full, "failed" to be written.`,
	}, []string{"result"})}
	for _, result := range []string{written, dropped, failed} { // an alert sees no increase in a series that begins above 0
		m.events.WithLabelValues(result)
	}
	if r != nil {
		r.MustRegister(m.events)
	}
	return m
}
