package priority

import (
	"testing"
	"testing/synctest"
)

func TestMetricsHaveTheNamesOfTheApiserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100})
		newHolder(t, l).take(ask(t, "user", createPod), 400)
		families, err := Gatherer().Gather()
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

// Requests that wait in front of the queues count as those in the queues do.
func TestRequestsInFrontAreCounted(t *testing.T) {
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
