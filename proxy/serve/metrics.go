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
	passes    *prometheus.CounterVec
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
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_pass_budget_reads_total",
			Help: "Lists and streaming lists that the cache could not show at once, by the reason and the outcome: " +
				`"passed"; after a wait "waited-passed" or "waited-served" from the cache; "refused" with 429.`,
		}, []string{"reason", "result"}),
		projected: plan.NewPolicyMetric(),
	}
	if r != nil {
		r.MustRegister(m.passing, m.passes, m.projected)
	}
	return m
}

// Outcomes of a read that counts.
type passResult string

const (
	resultPassed       passResult = "passed"
	resultWaitedPassed passResult = "waited-passed"
	resultWaitedServed passResult = "waited-served"
	resultRefused      passResult = "refused"
)

// budgeted returns the counter of the reads with an outcome.
func (m *Metrics) budgeted(reason outcome.Pass, result passResult) prometheus.Counter {
	return m.passes.WithLabelValues(string(reason), string(result))
}

// passed returns the gauge of open watches that pass for a reason. The apiserver must have accepted the
// watch: before that the labels are only words of the client.
func (m *Metrics) passed(info *request.Info, reason outcome.Pass) prometheus.Gauge {
	return m.passing.WithLabelValues(info.APIGroup, info.APIVersion, info.Resource, string(reason))
}
