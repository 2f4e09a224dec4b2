package connect

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of the proxy.
type Metrics struct {
	connections *prometheus.CounterVec
}

// NewMetrics registers the metrics with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_proxy_connections_total",
			Help: `Connections to the explicit proxy: "intercepted", "not-allowed", "invalid" (no host:port), ` +
				`"not-connect" (another request than CONNECT), "shutting-down".`,
		}, []string{"decision"}),
	}
	r.MustRegister(m.connections)
	return m
}
