package flowcontrol

import "github.com/prometheus/client_golang/prometheus"

var (
	descHeld       = prometheus.NewDesc("sluice_held_bytes", "Memory that slow readers of responses hold, in bytes.", nil, nil)
	descHeldTotal  = prometheus.NewDesc("sluice_held_bytes_limit", "Memory that slow readers of responses may hold, in bytes.", nil, nil)
	descEnded      = prometheus.NewDesc("sluice_slow_readers_ended_total", "Responses ended because slow readers held too much memory.", nil, nil)
	descSeats      = prometheus.NewDesc("sluice_seats_taken", "Requests that have a place at the apiserver.", []string{"callers"}, nil)
	descSeatsWait  = prometheus.NewDesc("sluice_seats_waiting", "Requests that wait for a place at the apiserver.", []string{"callers"}, nil)
	descSeatsTotal = prometheus.NewDesc("sluice_seats", "Places at the apiserver.", []string{"callers"}, nil)
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
	ch <- descSeats
	ch <- descSeatsWait
	ch <- descSeatsTotal
}

// Collect implements prometheus.Collector.
func (u *Upstream) Collect(ch chan<- prometheus.Metric) {
	send := func(s *FairSeats, callers string) {
		running, waiting := s.queue.Numbers()
		places, _ := s.limits()
		ch <- prometheus.MustNewConstMetric(descSeats, prometheus.GaugeValue, float64(running), callers)
		ch <- prometheus.MustNewConstMetric(descSeatsWait, prometheus.GaugeValue, float64(waiting), callers)
		ch <- prometheus.MustNewConstMetric(descSeatsTotal, prometheus.GaugeValue, float64(places), callers)
	}
	send(u.strangers, "unauthenticated")
	if fair, ok := u.seats.(*FairSeats); ok {
		send(fair, "authenticated")
	}
}

var (
	_ prometheus.Collector = (*SlowReaders)(nil)
	_ prometheus.Collector = (*CPU)(nil)
	_ prometheus.Collector = (*Upstream)(nil)
)
