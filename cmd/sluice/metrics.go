package main

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sluice/cache"
	"sluice/proxy"
	"sluice/proxy/upstream"
)

// instruments are the metrics of the process, in a registry of its own.
type instruments struct {
	registry *prometheus.Registry
	gateway  *proxy.Metrics
	upstream *upstream.Metrics
}

func newInstruments() *instruments {
	r := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sluice_build_info", Help: "What is running: always 1.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	info.Set(1)
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &instruments{registry: r, gateway: proxy.NewMetrics(r), upstream: upstream.NewMetrics(r)}
}

// encoded registers the use of the budget for encoded objects.
func (i *instruments) encoded(b *cache.Budget) {
	i.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sluice_encoded_bytes", Help: "Encoded and compressed objects that are kept.",
		}, func() float64 { return float64(b.Used()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sluice_encoded_limit_bytes", Help: "Most encoded and compressed objects that are kept.",
		}, func() float64 { return float64(b.Limit()) }),
	)
}
