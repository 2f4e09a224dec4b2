package main

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sluice/cache"
	"sluice/proxy"
	"sluice/proxy/auth"
	"sluice/proxy/upstream"
)

// metrics are the metrics of the process.
type metrics struct {
	registry *prometheus.Registry
	gateway  *proxy.Metrics
	upstream *upstream.Metrics
	access   *auth.Metrics
}

// newMetrics returns metrics in a registry of their own.
func newMetrics() *metrics {
	r := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sluice_build_info", Help: "Always 1; the labels are the versions of Sluice and Go.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	info.Set(1)
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &metrics{registry: r, gateway: proxy.NewMetrics(r), upstream: upstream.NewMetrics(r), access: auth.NewMetrics(r)}
}

// observeEncoded registers metrics of the budget for encoded objects.
func (m *metrics) observeEncoded(b *cache.Budget) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sluice_encoded_bytes", Help: "Memory that encoded and compressed objects use, in bytes.",
		}, func() float64 { return float64(b.Used()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sluice_encoded_limit_bytes", Help: "Memory that encoded and compressed objects may use, in bytes.",
		}, func() float64 { return float64(b.Limit()) }),
	)
}
