package resources

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"sluice/proxy/discovery"
	"sluice/test/support/fake"
)

// An apiserver that has just started refuses to tell which server serves a resource. Otherwise every
// store would be withdrawn after each of its restarts.
func TestStoreIsKeptWhileItsServerIsUnknownForAMoment(t *testing.T) {
	d := fake.Widgets
	for _, row := range []struct {
		refusals int
		kept     bool
	}{{0, true}, {1, true}, {checkTries - 1, true}, {checkTries, false}} {
		run(t, d, Options{CheckEvery: time.Hour}, []step{{"watchlist", d.Stream(d.InitialEventsEnd("10"))}}, func(t *testing.T, e *env) {
			e.lookup()
			pass(time.Second)
			before := e.check(t, 10)
			steps := slices.Repeat([]step{{"discovery", fake.Refuse(http.StatusForbidden)}}, row.refusals)
			if !row.kept {
				steps = append(steps, step{"watchlist", d.Stream(d.InitialEventsEnd("20"))})
			}
			e.SetSteps(steps)
			e.registry.check(t.Context(), (*entry).checkServer, func(*entry) bool { return true })
			pass(time.Minute)
			e.CheckPlayed(t)
			want := uint64(10)
			if !row.kept {
				want = 20
			}
			if after := e.check(t, want); (after.Store == before.Store) != row.kept {
				t.Errorf("%d refusals: the store is kept: %v", row.refusals, after.Store == before.Store)
			}
		})
	}
}

// A load balancer without backends may say that there is no aggregator.
func TestAggregatorThatSeemsAbsentIsLookedForAgain(t *testing.T) {
	d := fake.Widgets
	run(t, d, Options{CheckEvery: time.Hour}, []step{{"watchlist", d.Stream(d.InitialEventsEnd("10"))}}, func(t *testing.T, e *env) {
		e.lookup()
		pass(time.Second)
		for range 3 {
			e.SetSteps([]step{{"aggregator", fake.Refuse(http.StatusNotFound)}})
			pass(10 * time.Second)
			e.CheckPlayed(t)
		}
		if n := e.log.FilterMessage("changes are not followed").FilterField(zap.Stringer("resource", discovery.APIServices.GroupResource())).Len(); n != 1 {
			t.Errorf("%d lines in the log", n)
		}
	})
}
