package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/proxy/request"
	"sluice/proxy/serve/outcome"
)

// Metrics counts the watches that are served from the cache, and the proofs of recent reads.
type Metrics struct {
	watchers *prometheus.GaugeVec
	passing  *prometheus.GaugeVec
	events   *prometheus.CounterVec
	proofs   *prometheus.CounterVec

	passes      *prometheus.CounterVec
	passBytes   *prometheus.GaugeVec
	passWaiting prometheus.Gauge
}

// NewMetrics returns metrics that are registered with r, or nowhere if r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	labels := []string{"group", "version", "resource"}
	m := &Metrics{
		watchers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_watchers", Help: "Open watches that are served from the cache.",
		}, labels),
		passing: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_passed_watchers", Help: "Open watches that pass to the apiserver, by the reason.",
		}, append(labels, "reason")),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_watch_events_total", Help: "Events sent to watches from the cache, without initial events and bookmarks.",
		}, labels),
		proofs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_fence_proofs_total", Help: "Reads that needed a state proven recent, by what proved it or why none did.",
		}, []string{"proof"}),
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_pass_budget_reads_total", Help: "Reads that the cache could not show at once and that count for the budget of such reads, by the reason and what became of them.",
		}, []string{"reason", "result"}),
		passBytes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_pass_budget_bytes", Help: "What reads that pass at the moment take of their budget, by its part.",
		}, []string{"part"}),
		passWaiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_pass_budget_waiting", Help: "Reads that wait until the cache can show them or the budget lets them pass.",
		}),
	}
	if r != nil {
		r.MustRegister(m.watchers, m.passing, m.events, m.proofs, m.passes, m.passBytes, m.passWaiting)
	}
	return m
}

// Resources returns the metrics whose labels name a resource.
func (m *Metrics) Resources() []*prometheus.MetricVec {
	return []*prometheus.MetricVec{m.watchers.MetricVec, m.passing.MetricVec, m.events.MetricVec}
}

// What becomes of a read that counts for the budget.
type passResult string

const (
	resultPassed       passResult = "passed"
	resultWaitedPassed passResult = "waited-passed"
	resultWaitedServed passResult = "waited-served"
	resultRefused      passResult = "refused"
)

func (m *Metrics) budgeted(reason outcome.Pass, result passResult) {
	m.passes.WithLabelValues(string(reason), string(result)).Inc()
}

func (m *Metrics) proven(by string) { m.proofs.WithLabelValues(by).Inc() }

// passed returns the gauge of open watches that pass for a reason. The apiserver must have accepted the
// watch: before that the labels are only what the client sent.
func (m *Metrics) passed(info *request.Info, reason outcome.Pass) prometheus.Gauge {
	return m.passing.WithLabelValues(info.APIGroup, info.APIVersion, info.Resource, string(reason))
}

// watchMetrics are the metrics of one watch.
type watchMetrics struct {
	watchers prometheus.Gauge
	events   prometheus.Counter
}

func (m *Metrics) watch(info *request.Info) watchMetrics {
	labels := []string{info.APIGroup, info.APIVersion, info.Resource}
	return watchMetrics{m.watchers.WithLabelValues(labels...), m.events.WithLabelValues(labels...)}
}

func (m watchMetrics) opened()    { m.watchers.Inc() }
func (m watchMetrics) closed()    { m.watchers.Dec() }
func (m watchMetrics) sent(n int) { m.events.Add(float64(n)) }
