package clients

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	topLabels = []string{"user", "agent", "group", "resource"}
	descWould = prometheus.NewDesc("sluice_top_would_cost_cores",
		"Cost of served requests at the apiserver, for the clients of sluice_top_cost_cores.", topLabels, nil)
	descCost = prometheus.NewDesc("sluice_top_cost_cores",
		"Cost of passed requests at the apiserver, for the 20 authenticated clients that cost most when they were last "+
			"chosen, every 5 minutes.", topLabels, nil)
)

const (
	topClients = 20              // that have series of their own
	topEvery   = 5 * time.Minute // between two choices of them, which bounds how many series come and go
)

// topKey names the series of a client.
type topKey struct{ user, agent, group, resource string }

// top names the heaviest clients of a while ago.
type top struct {
	mu     sync.Mutex
	chosen time.Time
	of     []topKey
}

// Collector returns a collector of the heaviest named callers, if names are shown.
func (t *Table) Collector(names bool) prometheus.Collector { return collector{t, names} }

type collector struct {
	*Table
	names bool
}

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- descWould
	ch <- descCost
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	if !c.names {
		return
	}
	for k, r := range c.heaviestNamed() {
		ch <- prometheus.MustNewConstMetric(descWould, prometheus.GaugeValue, r.WouldCost, k.user, k.agent, k.group, k.resource)
		ch <- prometheus.MustNewConstMetric(descCost, prometheus.GaugeValue, r.Cost, k.user, k.agent, k.group, k.resource)
	}
}

// heaviestNamed returns the authenticated callers that had the highest costs at most topEvery ago, with their present costs.
func (t *Table) heaviestNamed() map[topKey]Recent {
	t.top.mu.Lock()
	defer t.top.mu.Unlock()
	now := t.recentNamed()
	if len(t.top.of) == 0 || time.Since(t.top.chosen) >= topEvery {
		t.top.chosen = time.Now()
		t.top.of = slices.SortedFunc(maps.Keys(now), func(a, b topKey) int {
			return cmp.Compare(now[b].WouldCost+now[b].Cost, now[a].WouldCost+now[a].Cost)
		})
		t.top.of = slices.Clone(t.top.of[:min(len(t.top.of), topClients)])
	}
	rows := map[topKey]Recent{}
	for _, k := range t.top.of {
		rows[k] = now[k] // nothing, if its rows have made room
	}
	return rows
}

// recentNamed returns the rates of authenticated callers.
func (t *Table) recentNamed() map[topKey]Recent {
	now, all := t.now(), map[topKey]Recent{}
	t.each(func(s *shard) {
		for _, r := range s.rows {
			if r.User == "" || r.Resource == "" {
				continue
			}
			k, v := topKey{r.User, r.Agent, r.Group, r.Resource}, r.rates(now)
			sum := all[k]
			sum.Plus(v)
			all[k] = sum
		}
	})
	return all
}
