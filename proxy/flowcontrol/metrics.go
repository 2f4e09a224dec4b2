package flowcontrol

import "github.com/prometheus/client_golang/prometheus"

var (
	descRunning     = prometheus.NewDesc("sluice_flowcontrol_running", "Requests that have a place.", []string{"class"}, nil)
	descWaiting     = prometheus.NewDesc("sluice_flowcontrol_waiting", "Requests that wait for a place.", []string{"class"}, nil)
	descConnections = prometheus.NewDesc("sluice_connections", "Open connections of the API listener.", nil, nil)
	descRejected    = prometheus.NewDesc("sluice_rejected_connections_total", "Connections closed because of a limit.", nil, nil)
)

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
)
