package watch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/proxy/request"
)

// Metrics counts the watches that are served from the cache.
type Metrics struct {
	watchers *prometheus.GaugeVec
	events   *prometheus.CounterVec
	waits    *prometheus.HistogramVec
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
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sluice_watch_events_dispatch_duration_seconds",
			Help: "Time from the arrival of an event, or from the start of a watch that began later, until the event was written " +
				"to the watch. Of events that are written together, the first one counts.",
			Buckets:                     []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 60},
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, labels),
	}
	if r != nil {
		r.MustRegister(m.watchers, m.events, m.waits)
	}
	return m
}

// counters are the metrics of one watch.
type counters struct {
	watchers prometheus.Gauge
	events   prometheus.Counter
	waits    prometheus.Observer
}

// of returns the metrics of a watch.
func (m *Metrics) of(info *request.Info) counters {
	labels := []string{info.APIGroup, info.APIVersion, info.Resource}
	return counters{m.watchers.WithLabelValues(labels...), m.events.WithLabelValues(labels...), m.waits.WithLabelValues(labels...)}
}
