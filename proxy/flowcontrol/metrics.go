package flowcontrol

import "github.com/prometheus/client_golang/prometheus"

var (
	descRunning     = prometheus.NewDesc("sluice_flowcontrol_running", "Requests that have a place.", []string{"class"}, nil)
	descWaiting     = prometheus.NewDesc("sluice_flowcontrol_waiting", "Requests that wait for a place.", []string{"class"}, nil)
	descPassing     = prometheus.NewDesc("sluice_flowcontrol_upstream_running", "Requests that are being passed to the apiserver.", []string{"class"}, nil)
	descPassingWait = prometheus.NewDesc("sluice_flowcontrol_upstream_waiting", "Requests that wait to be passed to the apiserver.", []string{"class"}, nil)
	descConnections = prometheus.NewDesc("sluice_connections", "Open connections of the API listener and the proxy listener.", nil, nil)
	descRejected    = prometheus.NewDesc("sluice_rejected_connections_total", "Connections closed because of a limit.", nil, nil)
)

var (
	descHeld  = prometheus.NewDesc("sluice_held_bytes", "Memory that slow readers of responses hold, in bytes.", nil, nil)
	descEnded = prometheus.NewDesc("sluice_slow_readers_ended_total", "Responses ended because slow readers held too much memory.", nil, nil)
)

var (
	descWorking     = prometheus.NewDesc("sluice_long_reads_working", "Long responses from the cache that Sluice works on.", nil, nil)
	descWorkWaiting = prometheus.NewDesc("sluice_long_reads_waiting", "Long responses from the cache that wait for their turn.", nil, nil)
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
	ch <- descEnded
}

// Collect implements prometheus.Collector.
func (s *SlowReaders) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(descHeld, prometheus.GaugeValue, float64(s.held.Load()))
	ch <- prometheus.MustNewConstMetric(descEnded, prometheus.CounterValue, float64(s.ended.Load()))
}

// Describe implements prometheus.Collector.
func (c *Control) Describe(ch chan<- *prometheus.Desc) {
	ch <- descRunning
	ch <- descWaiting
}

// Collect implements prometheus.Collector.
func (c *Control) Collect(ch chan<- prometheus.Metric) {
	for _, class := range classes {
		running, waiting := c.gates[class].numbers()
		r, w := c.anonymous[class].numbers()
		ch <- prometheus.MustNewConstMetric(descRunning, prometheus.GaugeValue, float64(running+r), string(class))
		ch <- prometheus.MustNewConstMetric(descWaiting, prometheus.GaugeValue, float64(waiting+w), string(class))
	}
}

// Describe implements prometheus.Collector.
func (u *Upstream) Describe(ch chan<- *prometheus.Desc) {
	ch <- descPassing
	ch <- descPassingWait
}

// Collect implements prometheus.Collector.
func (u *Upstream) Collect(ch chan<- prometheus.Metric) {
	send := func(class string, g *gate) {
		running, waiting := g.numbers()
		ch <- prometheus.MustNewConstMetric(descPassing, prometheus.GaugeValue, float64(running), class)
		ch <- prometheus.MustNewConstMetric(descPassingWait, prometheus.GaugeValue, float64(waiting), class)
	}
	for _, class := range classes {
		send(string(class), u.gates[class])
	}
	send("unauthenticated", u.anonymous)
}

// Describe implements prometheus.Collector.
func (c *Connections) Describe(ch chan<- *prometheus.Desc) {
	ch <- descConnections
	ch <- descRejected
}

// Collect implements prometheus.Collector.
func (c *Connections) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	open, rejected := c.open, c.rejected
	c.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(descConnections, prometheus.GaugeValue, float64(open))
	ch <- prometheus.MustNewConstMetric(descRejected, prometheus.CounterValue, float64(rejected))
}

var (
	_ prometheus.Collector = (*Control)(nil)
	_ prometheus.Collector = (*Connections)(nil)
	_ prometheus.Collector = (*SlowReaders)(nil)
	_ prometheus.Collector = (*CPU)(nil)
	_ prometheus.Collector = (*Upstream)(nil)
)
