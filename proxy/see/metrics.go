package see

import "github.com/prometheus/client_golang/prometheus"

var descStatus = prometheus.NewDesc(
	"sluice_status",
	"1 for the state of Sluice that the status page shows, 0 for the others; sampled every 15 s.", []string{"state"}, nil)

// Collector returns a collector of the state at the last sample.
func (s *Sampler) Collector() prometheus.Collector { return collector{s} }

type collector struct{ sampler *Sampler }

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) { ch <- descStatus }

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	now := c.sampler.State()
	for _, state := range States() {
		value := 0.0
		if state == now {
			value = 1
		}
		ch <- prometheus.MustNewConstMetric(descStatus, prometheus.GaugeValue, value, state)
	}
}
