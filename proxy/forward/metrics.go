package forward

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of the limits on passed requests.
type Metrics struct {
	inFlight *prometheus.GaugeVec
	rejected *prometheus.CounterVec
}

// NewMetrics registers the metrics with r, unless r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_forward_inflight_requests", Help: "Requests being passed to the apiserver, by class.",
		}, []string{"class"}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_forward_rejected_requests_total",
			Help: "Requests rejected with 429 because too many of their class were being passed to the apiserver.",
		}, []string{"class"}),
	}
	if r != nil {
		r.MustRegister(m.inFlight, m.rejected)
	}
	return m
}
