package flowcontrol

import "github.com/prometheus/client_golang/prometheus"

// Collectors returns the metrics of what requests wait for.
func Collectors(c *CPU) []prometheus.Collector {
	gauge := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	running := func(numbers func() (int64, int)) func() int64 {
		return func() int64 { n, _ := numbers(); return n }
	}
	waiting := func(numbers func() (int64, int)) func() int64 {
		return func() int64 { _, n := numbers(); return int64(n) }
	}
	return []prometheus.Collector{
		gauge("sluice_long_reads_working", "Long responses from the cache that Sluice works on.", running(c.Numbers)),
		gauge("sluice_long_reads_waiting", "Long responses from the cache that wait for their turn.", waiting(c.Numbers)),
		gauge("sluice_long_reads_places",
			"How many long responses Sluice works on at the same time (limits.longReads).", c.Places),
	}
}
