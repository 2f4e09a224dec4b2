package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/proxy/request"
)

// Metrics counts what is served out of the cache.
type Metrics struct {
	watchers *prometheus.GaugeVec
	events   *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	labels := []string{"group", "version", "resource"}
	m := &Metrics{
		watchers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_watchers", Help: "Open watches served out of the cache.",
		}, labels),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_watch_events_total", Help: "Events sent to watches out of the cache, without initial states.",
		}, labels),
	}
	r.MustRegister(m.watchers, m.events)
	return m
}

// watcherMetrics are the metrics of one watch.
type watcherMetrics struct {
	watchers prometheus.Gauge
	events   prometheus.Counter
}

func (m *Metrics) watcher(info *request.Info) watcherMetrics {
	labels := []string{info.APIGroup, info.APIVersion, info.Resource}
	return watcherMetrics{m.watchers.WithLabelValues(labels...), m.events.WithLabelValues(labels...)}
}

func (w watcherMetrics) open()      { w.watchers.Inc() }
func (w watcherMetrics) close()     { w.watchers.Dec() }
func (w watcherMetrics) sent(n int) { w.events.Add(float64(n)) }
