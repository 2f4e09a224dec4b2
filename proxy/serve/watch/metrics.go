package watch

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/proxy/request"
)

// Metrics counts the watches that are served from the cache.
type Metrics struct {
	watchers *prometheus.GaugeVec
	events   *prometheus.CounterVec
}

// NewMetrics returns metrics that are registered with r, or nowhere if r is nil. The labels are those
// of a resource.
func NewMetrics(r prometheus.Registerer, labels []string) *Metrics {
	m := &Metrics{
		watchers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_watchers", Help: "Open watches that are served from the cache.",
		}, labels),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_watch_events_total", Help: "Events sent to watches from the cache, without initial events and bookmarks.",
		}, labels),
	}
	if r != nil {
		r.MustRegister(m.watchers, m.events)
	}
	return m
}

// Resources returns the metrics whose labels name a resource.
func (m *Metrics) Resources() []*prometheus.MetricVec {
	return []*prometheus.MetricVec{m.watchers.MetricVec, m.events.MetricVec}
}

// counters are the metrics of one watch.
type counters struct {
	watchers prometheus.Gauge
	events   prometheus.Counter
}

func (m *Metrics) of(info *request.Info) counters {
	labels := []string{info.APIGroup, info.APIVersion, info.Resource}
	return counters{m.watchers.WithLabelValues(labels...), m.events.WithLabelValues(labels...)}
}

func (m counters) opened()    { m.watchers.Inc() }
func (m counters) closed()    { m.watchers.Dec() }
func (m counters) sent(n int) { m.events.Add(float64(n)) }
