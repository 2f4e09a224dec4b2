package auth

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts reviews and changes of access rules.
type Metrics struct {
	made    *prometheus.CounterVec
	running *prometheus.GaugeVec
	changes prometheus.Counter
}

// NewMetrics returns metrics that are registered with r, or nowhere if r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		made: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_reviews_total",
			Help: `Reviews at the apiserver: "kind" is "token", "access" or "origin"; "result" is "positive", "negative", "failed", or ` +
				`"canceled" if whoever asked has hung up.`,
		}, []string{"kind", "result"}),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_reviews_in_flight", Help: "Reviews that run.",
		}, []string{"kind"}),
		changes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_access_rule_changes_total",
			Help: "Changes of RBAC objects, each of which invalidates results of access reviews.",
		}),
	}
	if r != nil {
		r.MustRegister(m.made, m.running, m.changes)
	}
	return m
}

// reviewMetrics are the metrics of one kind of review.
type reviewMetrics struct {
	kind                                 string
	positive, negative, failed, canceled prometheus.Counter
	running                              prometheus.Gauge
}

func (m *Metrics) reviews(kind string) reviewMetrics {
	made := func(result string) prometheus.Counter { return m.made.WithLabelValues(kind, result) }
	return reviewMetrics{kind, made("positive"), made("negative"), made("failed"), made("canceled"), m.running.WithLabelValues(kind)}
}

func (m reviewMetrics) started() { m.running.Inc() }

// ended counts a review. One for which nobody waits any more is canceled: whoever hangs up lets none fail.
func (m reviewMetrics) ended(ctx context.Context, positive bool, err error) {
	m.running.Dec()
	switch {
	case err != nil && errors.Is(context.Cause(ctx), context.Canceled):
		m.canceled.Inc()
	case err != nil:
		m.failed.Inc()
	case positive:
		m.positive.Inc()
	default:
		m.negative.Inc()
	}
}
