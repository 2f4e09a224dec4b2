package priority

import (
	"math"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"

	"sluice/proxy/accounts"
	"sluice/proxy/queue"
)

// queueSets makes the queues of each priority level: a level in front of queues of the library.
type queueSets struct{ library fq.QueueSetFactory }

// BeginConstruction implements fq.QueueSetFactory.
func (s queueSets) BeginConstruction(c fq.QueuingConfig, requests metrics.RatioedGaugePair, seats metrics.RatioedGauge,
	wanted metrics.Gauge) (fq.QueueSetCompleter, error) {
	l := &level{name: c.Name, wanted: wanted, line: queue.New(0), slow: accounts.New(accounts.Totals{}, math.MaxInt64)}
	completer, err := s.library.BeginConstruction(c, requests, seats, unset{wanted})
	return levelCompleter{l, c, completer}, err
}

// BeginConfigChange implements fq.QueueSet.
func (l *level) BeginConfigChange(c fq.QueuingConfig) (fq.QueueSetCompleter, error) {
	completer, err := l.QueueSet.BeginConfigChange(c)
	return levelCompleter{l, c, completer}, err
}

// levelCompleter ends the construction or a change of a level, once its number of seats is known.
type levelCompleter struct {
	level   *level
	queuing fq.QueuingConfig
	library fq.QueueSetCompleter
}

// Complete implements fq.QueueSetCompleter.
func (c levelCompleter) Complete(d fq.DispatchingConfig) fq.QueueSet {
	c.level.configure(c.library.Complete(d), c.queuing, d.ConcurrencyLimit)
	return c.level
}
