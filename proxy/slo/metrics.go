// Package slo counts how many requests of callers with a name met an objective. Anybody can send requests that fail, so
// those of others say nothing.
package slo

import "github.com/prometheus/client_golang/prometheus"

// Objective counts requests.
type Objective struct{ met, missed prometheus.Counter }

// New returns an objective whose counters are registered with r, or nowhere if r is nil.
func New(r prometheus.Registerer, name string) Objective {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name:        "sluice_slo_requests_total",
		Help:        `Requests of callers that Sluice has authenticated, by objective; "result" is "met" or "missed".`,
		ConstLabels: prometheus.Labels{"slo": name},
	}, []string{"result"})
	if r != nil {
		r.MustRegister(v)
	}
	return Objective{v.WithLabelValues("met"), v.WithLabelValues("missed")}
}

// Count counts a request.
func (o Objective) Count(met bool) {
	if met {
		o.met.Inc()
	} else {
		o.missed.Inc()
	}
}
