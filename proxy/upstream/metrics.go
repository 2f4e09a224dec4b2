package upstream

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what goes upstream.
type Metrics struct {
	requests *prometheus.CounterVec
	open     *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_upstream_requests_total",
			Help: "Requests sent upstream, by the transport they took; code is 0 if there was no answer.",
		}, []string{"purpose", "code"}),
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_upstream_watches", Help: "Open watches of Sluice's own at the upstream.",
		}, []string{"group", "version", "resource"}),
	}
	r.MustRegister(m.requests, m.open)
	return m
}

// Wrap makes rt count. It fits Options.Wrap.
func (m *Metrics) Wrap(purpose string, rt http.RoundTripper) http.RoundTripper {
	return &counted{RoundTripper: rt, requests: m.requests, purpose: purpose}
}

// Watch counts an open watch of Sluice's own until the function it returns is
// called.
func (m *Metrics) Watch(group, version, resource string) (done func()) {
	gauge := m.open.WithLabelValues(group, version, resource)
	gauge.Inc()
	return gauge.Dec
}

type counted struct {
	http.RoundTripper
	requests *prometheus.CounterVec
	purpose  string
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	code := 0
	if err == nil {
		code = resp.StatusCode
	}
	c.requests.WithLabelValues(c.purpose, strconv.Itoa(code)).Inc()
	return resp, err
}

// WrappedRoundTripper lets idle connections be closed from outside.
func (c *counted) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }
