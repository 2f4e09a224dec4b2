package flowcontrol

import "github.com/prometheus/client_golang/prometheus"

var (
	descHeld       = prometheus.NewDesc("sluice_held_bytes", "Memory that slow readers of responses hold, in bytes.", nil, nil)
	descHeldTotal  = prometheus.NewDesc("sluice_held_bytes_limit", "Memory that slow readers of responses may hold, in bytes.", nil, nil)
	descEnded      = prometheus.NewDesc("sluice_slow_readers_ended_total", "Responses ended because slow readers held too much memory.", nil, nil)
	descPassing    = prometheus.NewDesc("sluice_unauthenticated_passing", "Requests of unauthenticated callers that are being passed to the apiserver.", nil, nil)
	descPassWait   = prometheus.NewDesc("sluice_unauthenticated_waiting", "Requests of unauthenticated callers that wait to be passed.", nil, nil)
	descPassPlaces = prometheus.NewDesc("sluice_unauthenticated_places", "How many requests of unauthenticated callers may be passed at the same time.", nil, nil)
)

var (
	descWorking     = prometheus.NewDesc("sluice_long_reads_working", "Responses from the cache that Sluice works on in turns.", nil, nil)
	descWorkWaiting = prometheus.NewDesc("sluice_long_reads_waiting", "Responses from the cache that wait for their turn.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *CPU) Describe(ch chan<- *prometheus.Desc) {
	ch <- descWorking
	ch <- descWorkWaiting
}

// Collect implements prometheus.Collector.
func (c *CPU) Collect(ch chan<- prometheus.Metric) {
	working, waiting := c.Numbers()
	ch <- prometheus.MustNewConstMetric(descWorking, prometheus.GaugeValue, float64(working))
	ch <- prometheus.MustNewConstMetric(descWorkWaiting, prometheus.GaugeValue, float64(waiting))
}

// Describe implements prometheus.Collector.
func (s *SlowReaders) Describe(ch chan<- *prometheus.Desc) {
	ch <- descHeld
	ch <- descHeldTotal
	ch <- descEnded
}

// Collect implements prometheus.Collector.
func (s *SlowReaders) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(descHeld, prometheus.GaugeValue, float64(s.held.Load()))
	ch <- prometheus.MustNewConstMetric(descHeldTotal, prometheus.GaugeValue, float64(s.limit.Load()))
	ch <- prometheus.MustNewConstMetric(descEnded, prometheus.CounterValue, float64(s.ended.Load()))
}

// Describe implements prometheus.Collector.
func (u *Upstream) Describe(ch chan<- *prometheus.Desc) {
	ch <- descPassing
	ch <- descPassWait
	ch <- descPassPlaces
}

// Collect implements prometheus.Collector.
func (u *Upstream) Collect(ch chan<- prometheus.Metric) {
	running, waiting := u.strangers.queue.Numbers()
	ch <- prometheus.MustNewConstMetric(descPassing, prometheus.GaugeValue, float64(running))
	ch <- prometheus.MustNewConstMetric(descPassWait, prometheus.GaugeValue, float64(waiting))
	ch <- prometheus.MustNewConstMetric(descPassPlaces, prometheus.GaugeValue, float64(u.strangers.places.Load()))
}

var (
	_ prometheus.Collector = (*SlowReaders)(nil)
	_ prometheus.Collector = (*CPU)(nil)
	_ prometheus.Collector = (*Upstream)(nil)
)
