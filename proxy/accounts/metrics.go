package accounts

import "github.com/prometheus/client_golang/prometheus"

var (
	descUsed = prometheus.NewDesc("sluice_account_used", "What all callers hold of a resource, in its unit.",
		[]string{"resource"}, nil)
	descTotal = prometheus.NewDesc("sluice_account_total", "How much there is of a resource, in its unit.", []string{"resource"},
		nil)
	descLargest = prometheus.NewDesc("sluice_account_largest", "What the account with the most holds of a resource.",
		[]string{"resource"}, nil)
	descRefused = prometheus.NewDesc("sluice_account_refused_total", "Requests for a resource that were refused.",
		[]string{"resource"}, nil)
	descMemory = prometheus.NewDesc("sluice_account_memory_bytes", "Memory that all resources of callers take, by estimate.", nil,
		nil)
	descRoom = prometheus.NewDesc("sluice_account_memory_limit_bytes", "Memory that there is for all resources of callers.", nil,
		nil)
	descEnded = prometheus.NewDesc("sluice_account_revoked_total",
		"Connections, watches and responses ended in favor of lighter accounts.", []string{"resource"}, nil)
)

// Describe implements prometheus.Collector.
func (l *Ledger) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descUsed, descTotal, descLargest, descRefused, descEnded, descMemory, descRoom} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (l *Ledger) Collect(ch chan<- prometheus.Metric) {
	for _, r := range All() {
		u, name := l.Usage(r), r.String()
		ch <- prometheus.MustNewConstMetric(descUsed, prometheus.GaugeValue, float64(u.Used), name)
		ch <- prometheus.MustNewConstMetric(descTotal, prometheus.GaugeValue, float64(u.Total), name)
		ch <- prometheus.MustNewConstMetric(descLargest, prometheus.GaugeValue, float64(u.Largest), name)
		ch <- prometheus.MustNewConstMetric(descRefused, prometheus.CounterValue, float64(u.Refused), name)
		ch <- prometheus.MustNewConstMetric(descEnded, prometheus.CounterValue, float64(u.Revoked), name)
	}
	used, total := l.Memory()
	ch <- prometheus.MustNewConstMetric(descMemory, prometheus.GaugeValue, float64(used))
	ch <- prometheus.MustNewConstMetric(descRoom, prometheus.GaugeValue, float64(total))
}

var _ prometheus.Collector = (*Ledger)(nil)
