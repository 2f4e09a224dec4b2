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
			Name: "sluice_proxy_connections_total", Help: "Connections to the proxy, by what was decided about them.",
		}, []string{"decision"}),
		tunnels: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sluice_proxy_tunnels", Help: "Open tunnels to destinations other than the API.",
		}),
	}
	r.MustRegister(m.connections, m.tunnels)
	return m
}
