package priority

import (
	"testing"
	"testing/synctest"

	"sluice/cache"
	"sluice/codec"
)

func TestMetricsHaveTheNamesOfTheApiserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100})
		newHolder(t, l).take(ask(t, "user", createPod), 400)
		families, err := l.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for _, f := range families {
			found[f.GetName()] = len(f.GetMetric())
		}
		for name := range exposed {
			if found[ownPrefix+name] == 0 {
				t.Errorf("%s%s has no series", ownPrefix, name)
			}
			delete(found, ownPrefix+name)
		}
		if len(found) > 0 {
			t.Errorf("other metrics: %v", found)
		}
	})
}

func TestSeriesEndWithTheFlowSchemaAndTheLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, codec.Protobuf)
		l := start(t, Options{Seats: 600, Resources: c})
		series := func(label string) (n int) {
			families, err := l.Gatherer().Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range families {
				for _, m := range f.GetMetric() {
					for _, l := range m.GetLabel() {
						if l.GetName() == label && l.GetValue() == "passing" {
							n++
						}
					}
				}
			}
			return n
		}
		level, flow := newLevel("passing", "user")
		c.apply(c.levels, cache.Added, level)
		c.apply(c.schemas, cache.Added, flow)
		h := newHolder(t, l).take(ask(t, "user", createPod), 1)
		if series("flow_schema") == 0 || series("priority_level") == 0 {
			t.Fatal("no series")
		}
		c.apply(c.schemas, cache.Deleted, flow)
		c.apply(c.levels, cache.Deleted, level)
		if n := series("flow_schema"); n == 0 {
			t.Error("a request that has its seat is not counted any more")
		}
		h.leaveAll()
		if schemas, levels := series("flow_schema"), series("priority_level"); schemas+levels > 0 {
			t.Errorf("%d series of the schema and %d of the level are left", schemas, levels)
		}
	})
}

// Requests in line count as those in the queues of the library do.
func TestRequestsInLineAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100})
		h := newHolder(t, l).take(ask(t, "user", createPod), 50)
		got := numbers(t, "current_executing_requests", "current_inqueue_requests")
		if got["current_executing_requests"] != float64(h.has()) || got["current_inqueue_requests"] != float64(50-h.has()) {
			t.Errorf("%v when %d of 50 have a seat", got, h.has())
		}
		h.leaveAll()
		nobody(t)
	})
}
