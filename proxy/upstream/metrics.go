package upstream

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of requests to the apiserver.
type Metrics struct {
	requests *prometheus.CounterVec
	watches  *prometheus.GaugeVec
}

// NewMetrics registers the metrics with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_upstream_requests_total",
			Help: `Requests to the apiserver. "purpose" is "authenticated" (the caller has a verified token), "anonymous" ` +
				`(an unauthenticated caller), "upgrade", "on-behalf" (a caller with a client certificate, named by ` +
				`headers) or "self" (discovery, reflectors, proofs, reviews, health). Without an answer "code" is ` +
				`"canceled" if the client, or Sluice itself, had given the request up, and else "error".`,
		}, []string{"purpose", "code"}),
		watches: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_upstream_watches",
			Help: "Sluice's own watches at the apiserver: one per cached resource, and one of apiservices, without second " +
				"watches and watches of RBAC objects.",
		}, []string{"group", "version", "resource"}),
	}
	r.MustRegister(m.requests, m.watches)
	return m
}

// Metric returns the skew of the clock as a metric.
func (c *Clock) Metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sluice_upstream_clock_seconds",
		Help: "By how much the apiserver's clock is ahead of the machine's, by the Date of its responses, give or take a second. " +
			"Ages in Tables follow the apiserver's clock if it is more than 2.",
	}, func() float64 { return c.Skew().Seconds() })
}

// Wrap returns a RoundTripper that counts the requests of rt. Use it as Options.Wrap.
func (m *Metrics) Wrap(purpose string, rt http.RoundTripper) http.RoundTripper {
	return &counted{RoundTripper: rt, requests: m.requests, purpose: purpose}
}

// Watch counts a watch that Sluice has opened, until the returned function is called.
func (m *Metrics) Watch(group, version, resource string) (done func()) {
	open := m.watches.WithLabelValues(group, version, resource)
	open.Inc()
	return open.Dec
}

// counted is a RoundTripper that counts requests.
type counted struct {
	http.RoundTripper
	requests *prometheus.CounterVec
	purpose  string
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	c.requests.WithLabelValues(c.purpose, codeOf(r, resp, err)).Inc()
	return resp, err
}

// The values of the label code without a response: whoever asked has given the request up, such as a client that
// has gone, or the apiserver has failed it.
const (
	codeCanceled = "canceled"
	codeError    = "error"
)

// codeOf returns the label code. Only a request that was canceled for no other cause was given up: a limit of
// time that has passed is a failure of the apiserver.
func codeOf(r *http.Request, resp *http.Response, err error) string {
	switch {
	case err == nil:
		return strconv.Itoa(resp.StatusCode)
	case errors.Is(context.Cause(r.Context()), context.Canceled):
		return codeCanceled
	}
	return codeError
}

// WrappedRoundTripper lets apimachinery's CloseIdleConnectionsFor find the transport.
func (c *counted) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }
