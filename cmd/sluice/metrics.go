package main

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sluice/cache/tree"
	"sluice/proxy"
	"sluice/proxy/audit"
	"sluice/proxy/auth"
	"sluice/proxy/connect"
	"sluice/proxy/limits"
	"sluice/proxy/upstream"
)

// metrics are the metrics of the process.
type metrics struct {
	registry   *prometheus.Registry
	gateway    *proxy.Metrics
	upstream   *upstream.Metrics
	access     *auth.Metrics
	audit      *audit.Metrics
	connect    *connect.Metrics
	reload     *reloadMetrics
	handshakes *limits.HandshakeMetrics
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
	return &metrics{
		registry: r, gateway: proxy.NewMetrics(r), upstream: upstream.NewMetrics(r), access: auth.NewMetrics(r),
		audit: audit.NewMetrics(r), connect: connect.NewMetrics(r), reload: newReloadMetrics(r), handshakes: limits.NewHandshakeMetrics(r),
	}
}

// observeEncoded registers metrics of the budget for encoded objects.
func (m *metrics) observeEncoded(b *tree.Budget) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sluice_encoded_bytes", Help: "Memory of encoded and compressed objects and of indexes of labels and fields.",
		}, func() float64 { return float64(b.Used()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "sluice_encoded_evicted_bytes_total", Help: "What was evicted to keep sluice_encoded_bytes within its limit.",
		}, func() float64 { return float64(b.Evicted()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sluice_encoded_limit_bytes", Help: "Limit of sluice_encoded_bytes: cache.encodedBytes, or what the rest of the memory leaves.",
		}, func() float64 { return float64(b.Limit()) }),
	)
}

// observeMemory registers metrics of the memory of the process.
func (m *metrics) observeMemory(v *limits.Valve) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sluice_memory_used_bytes", Help: "Memory that the process uses and cannot free at once.",
		}, func() float64 { used, _ := v.State(); return float64(used) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "sluice_memory_limit_bytes", Help: "Limit of sluice_memory_used_bytes: from 75 % what is encoded shrinks, from 85 % all " +
				"but system callers get 429, from 92 % the callers that hold the most lose connections and watches.",
		}, func() float64 { _, limit := v.State(); return float64(limit) }),
	)
}

// reloadMetrics are the metrics of reloads of the configuration file.
type reloadMetrics struct {
	total      *prometheus.CounterVec
	successful prometheus.Gauge
}

func newReloadMetrics(r prometheus.Registerer) *reloadMetrics {
	m := &reloadMetrics{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_config_reload_total",
			Help: `Reloads of the configuration file: "succeeded", "invalid" or "needs-restart".`,
		}, []string{"result"}),
		successful: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_config_last_reload_successful", Help: "1 if Sluice runs by the present configuration file.",
		}),
	}
	m.successful.Set(1)
	r.MustRegister(m.total, m.successful)
	return m
}

// count counts a reload by its result.
func (m *reloadMetrics) count(result string) {
	m.total.WithLabelValues(result).Inc()
	m.successful.Set(0)
	if result == reloadSucceeded {
		m.successful.Set(1)
	}
}
