package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/proxy/request"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
	"sluice/proxy/serve/watch"
)

// Metrics counts the watches that are served from the cache, and the proofs of recent reads.
type Metrics struct {
	watches *watch.Metrics
	proofs  *fresh.Metrics

	passing   *prometheus.GaugeVec
	projected *prometheus.CounterVec
}

// NewMetrics returns metrics that are registered with r, or nowhere if r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	labels := []string{"group", "version", "resource"}
	m := &Metrics{
		watches: watch.NewMetrics(r, labels),
		proofs:  fresh.NewMetrics(r),
		passing: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_passed_watchers", Help: "Open watches that pass to the apiserver, by the reason.",
		}, append(labels, "reason")),
		projected: plan.NewPolicyMetric(),
	}
	if r != nil {
		r.MustRegister(m.passing, m.projected)
	}
	return m
}

// passed returns the gauge of open watches that pass for a reason. The apiserver must have accepted the
// watch: before that the labels are only words of the client.
func (m *Metrics) passed(info *request.Info, reason outcome.Pass) prometheus.Gauge {
	if !info.Nameable() {
		return m.passing.WithLabelValues("other", "other", "other", string(reason))
	}
	return m.passing.WithLabelValues(info.APIGroup, info.APIVersion, info.Resource, string(reason))
}
