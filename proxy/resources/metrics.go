package resources

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Collector returns a collector of the stores' figures, taken when asked for.
func (m *Registry) Collector() prometheus.Collector { return collector{m} }

type collector struct{ registry *Registry }

var labels = []string{"group", "version", "resource"}

func describeMetric(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("sluice_store_"+name, help, labels, nil)
}

var (
	descSynced    = describeMetric("synced", "Whether the store is in sync and reads are served from it.")
	descConnected = describeMetric("connected", "Whether the upstream watch that feeds the store is open.")
	descLag       = describeMetric("lag_seconds", "Time since the upstream last sent an event or bookmark.")
	descReceived  = describeMetric("received_total", "Events and bookmarks received from upstream.")
	descObjects   = describeMetric("objects", "Objects in the store.")
	descVersion   = describeMetric("resource_version", "Resource version up to which the store is complete.")
	descData      = describeMetric("data_bytes", "Length of the stored objects.")
	descEvents    = describeMetric("history_events", "Events in the history.")
	descHistory   = describeMetric("history_bytes", "Memory that only the history keeps.")
	descMismatch  = describeMetric("mismatches_total", "Stores that were given up because they differed from the upstream.")
	descCursors   = describeMetric("cursors", "Watches that read the history.")
)

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descSynced, descConnected, descLag, descReceived, descObjects, descVersion, descData, descEvents, descHistory, descMismatch, descCursors} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	for r, e := range c.registry.all() {
		if !e.absent.Load() {
			e.collect(r, ch)
		}
	}
}

func (e *entry) collect(r schema.GroupVersionResource, ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, r.Group, r.Version, r.Resource)
	}
	connected, contact := e.feed.Connected()
	gauge(descConnected, truth(connected))
	ch <- prometheus.MustNewConstMetric(descReceived, prometheus.CounterValue, float64(e.received.Load()), r.Group, r.Version, r.Resource)
	ch <- prometheus.MustNewConstMetric(descMismatch, prometheus.CounterValue, float64(e.mismatches.Load()), r.Group, r.Version, r.Resource)
	c := e.collection.Load()
	gauge(descSynced, truth(c != nil))
	if c == nil {
		return
	}
	gauge(descLag, time.Since(contact).Seconds())
	s := c.Store.Stats()
	gauge(descObjects, float64(s.Objects))
	gauge(descVersion, float64(s.Version))
	gauge(descData, float64(s.DataBytes))
	gauge(descEvents, float64(s.Events))
	gauge(descHistory, float64(s.HistoryBytes))
	gauge(descCursors, float64(s.Cursors))
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
