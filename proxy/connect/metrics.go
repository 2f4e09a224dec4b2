package connect

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of the proxy.
type Metrics struct {
	connections *prometheus.CounterVec
	tunnels     prometheus.Gauge
}

// NewMetrics registers the metrics with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_proxy_connections_total",
			Help: `Connections to the explicit proxy: "intercepted", "tunneled", "not-allowed", "invalid" (no host:port), ` +
				`"not-connect" (another request than CONNECT), "unauthenticated", "busy" (too many unknown passwords), ` +
				`"unreachable" (a tunnel), "shutting-down".`,
		}, []string{"decision"}),
		tunnels: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_proxy_tunnels", Help: "Open tunnels to destinations other than the API.",
		}),
	}
	r.MustRegister(m.connections, m.tunnels)
	return m
}
