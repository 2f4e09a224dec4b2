package certs

import "github.com/prometheus/client_golang/prometheus"

// Metric returns when the certificate expires, under a name.
func (r *Reloader) Metric(name string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "sluice_certificate_expiry_timestamp_seconds",
		Help:        `When a serving certificate expires, in seconds since 1970: "serving", "sni-1" and so on, "proxy".`,
		ConstLabels: prometheus.Labels{"certificate": name},
	}, func() float64 { return float64(r.last.Load().Leaf.NotAfter.Unix()) })
}
