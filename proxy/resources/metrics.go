package resources

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector returns a collector of the figures of all stores, taken at each scrape.
func (r *Registry) Collector() prometheus.Collector { return collector{r} }

type collector struct{ registry *Registry }

func describeMetric(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("sluice_store_"+name, help, []string{"group", "version", "resource"}, nil)
}

var (
	descSynced    = describeMetric("synced", "1 if reads are served from the store.")
	descForbidden = describeMetric("forbidden", "1 if the apiserver forbids Sluice to list or watch the resource, and there is no store.")
	descConnected = describeMetric("connected", "1 if the upstream watch of the store is open.")
	descLag       = describeMetric("lag_seconds",
		"Time since the apiserver last sent an event or bookmark. A minute is usual for a quiet resource, and says "+
			"nothing about how old an answer is.")
	descProven = describeMetric("proven_seconds",
		"Time since an event, a bookmark or a proof last showed that the store was up to date; a read of the most "+
			"recent state proves a quiet store.")
	descReceived  = describeMetric("received_total", "Events and bookmarks received from the apiserver.")
	descObjects   = describeMetric("objects", "Objects in the store.")
	descVersion   = describeMetric("resource_version", "Resource version up to which the store is complete.")
	descData      = describeMetric("data_bytes", "Length of the stored objects.")
	descHistory   = describeMetric("history_bytes", "Memory that only the history keeps.")
	descMismatch  = describeMetric("mismatches_total", "Stores that were rebuilt because they differed from the apiserver.")
	descDelegated = describeMetric("delegated_reads_total",
		"Small reads and gets of the most recent state that were forwarded because that costs less than a proof.")
	descLent = describeMetric("lent_seconds_total",
		"Apiserver time beyond cache.proofs, of forwarded reads and of roll calls that cost less than the reads that they proved.")
	descCost = describeMetric("proof_seconds_total",
		"Apiserver time of probes, roll calls and delegated reads, which cache.proofs limits.")
)

var (
	descCharged = prometheus.NewDesc("sluice_stores_bytes",
		"Memory that all stores take, those that are being filled included, with 128 KiB for each.",
		nil, nil)
	descLimit = prometheus.NewDesc("sluice_stores_limit_bytes",
		"Memory that all stores together may take (cache.maxBytes); 0 if there is no limit.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- descCharged
	ch <- descLimit
	for _, d := range []*prometheus.Desc{
		descSynced, descForbidden, descConnected, descLag, descProven, descReceived, descObjects, descVersion, descData, descHistory,
		descMismatch, descDelegated, descCost, descLent,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(descCharged, prometheus.GaugeValue, float64(c.registry.room.total()))
	ch <- prometheus.MustNewConstMetric(descLimit, prometheus.GaugeValue, float64(c.registry.room.limit))
	for _, e := range c.registry.entries.all() {
		e.collect(ch)
	}
}

func (e *entry) collect(ch chan<- prometheus.Metric) {
	if e.tooLarge.Load() { // it has no store, and is to have none
		return
	}
	send := func(d *prometheus.Desc, t prometheus.ValueType, v float64) {
		ch <- prometheus.MustNewConstMetric(d, t, v, e.gvr.Group, e.gvr.Version, e.gvr.Resource)
	}
	gauge := func(d *prometheus.Desc, v float64) { send(d, prometheus.GaugeValue, v) }
	connected, lastChange := e.reflector.Connected()
	gauge(descConnected, boolValue(connected))
	send(descReceived, prometheus.CounterValue, float64(e.received.Load()))
	send(descMismatch, prometheus.CounterValue, float64(e.mismatches.Load()))
	c := e.current.Load()
	gauge(descSynced, boolValue(c != nil))
	gauge(descForbidden, boolValue(c == nil && e.forbidden.Load()))
	if c == nil {
		return
	}
	gauge(descLag, time.Since(lastChange).Seconds())
	gauge(descProven, time.Since(e.lastProven()).Seconds())
	s := c.Store.Stats()
	gauge(descObjects, float64(s.Objects))
	gauge(descVersion, float64(s.Version))
	gauge(descData, float64(s.DataBytes))
	gauge(descHistory, float64(s.HistoryBytes))
	f := c.Fence.Stats()
	send(descDelegated, prometheus.CounterValue, float64(f.Forwarded))
	send(descCost, prometheus.CounterValue, f.Seconds)
	send(descLent, prometheus.CounterValue, f.Uncharged)
}

// lastProven returns the time up to which the store is known to be up to date: by its watch, whose events and bookmarks
// tell that, by a proof, or by its fill.
func (e *entry) lastProven() time.Time {
	known, proven := e.reflector.Known(), time.Unix(0, e.proven.Load())
	if proven.After(known) {
		return proven
	}
	return known
}

// prove takes note of a proof. A proof that took longer may end after one that began later.
func (e *entry) prove(by time.Time) {
	for next := by.UnixNano(); ; {
		last := e.proven.Load()
		if next <= last || e.proven.CompareAndSwap(last, next) {
			return
		}
	}
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
