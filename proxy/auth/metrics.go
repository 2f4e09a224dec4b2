package auth

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Metrics counts reviews and changes of access rules.
type Metrics struct {
	made    *prometheus.CounterVec
	changes prometheus.Counter
	log     *zap.Logger // see LogFailures
}

// NewMetrics returns metrics that are registered with r, or nowhere if r is nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		made: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_reviews_total",
			Help: `Reviews at the apiserver: "kind" is "token" or "access"; "result" is "positive", "negative", "failed", or ` +
				`"canceled" if whoever asked has hung up.`,
		}, []string{"kind", "result"}),
		changes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sluice_access_rule_changes_total",
			Help: "Times that changes of RBAC objects have invalidated the results of access reviews.",
		}),
	}
	m.LogFailures(zap.NewNop())
	if r != nil {
		r.MustRegister(m.made, m.changes)
	}
	return m
}

// LogFailures has the error of a failed review logged, once a minute.
func (m *Metrics) LogFailures(log *zap.Logger) {
	m.log = log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(c, time.Minute, 1, 0)
	}))
}

// reviewMetrics are the metrics of one kind of review.
type reviewMetrics struct {
	kind                                 string
	positive, negative, failed, canceled prometheus.Counter
	log                                  *zap.Logger
}

func (m *Metrics) reviews(kind string) reviewMetrics {
	made := func(result string) prometheus.Counter { return m.made.WithLabelValues(kind, result) }
	return reviewMetrics{kind, made("positive"), made("negative"), made("failed"), made("canceled"), m.log}
}

// ended counts a review. One for which nobody waits any more is canceled: whoever hangs up lets none fail.
func (m reviewMetrics) ended(ctx context.Context, positive bool, err error) {
	switch {
	case err != nil && errors.Is(context.Cause(ctx), context.Canceled):
		m.canceled.Inc()
	case err != nil:
		m.failed.Inc()
		m.log.Warn("review failed", zap.String("kind", m.kind), zap.Error(err))
	case positive:
		m.positive.Inc()
	default:
		m.negative.Inc()
	}
}
