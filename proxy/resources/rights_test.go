package resources

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"sluice/test/support/fake"
)

// refusals are steps in which the apiserver refuses to continue a store that has ended at a version, until the
// store is withdrawn, and to fill another one.
func refusals(call string) []step {
	steps := slices.Repeat([]step{{call, fake.Refuse(http.StatusForbidden)}}, 6)
	return append(steps, step{"first list", fake.Refuse(http.StatusForbidden)})
}

func TestOnlyRightsThatWereLostFailTheCheck(t *testing.T) {
	d := fake.ConfigMaps
	filled := step{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"))}
	lost := "apiserver no longer allows to read configmaps.v1"
	for _, tt := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"NeverGranted", []step{
			{"first list", fake.Refuse(http.StatusForbidden)},
			{"watchlist", fake.Refuse(http.StatusForbidden)},
			{"first list", fake.Hang},
		}, ""},
		{"RefusedForAMoment", []step{
			filled,
			{"watch 10", fake.Refuse(http.StatusForbidden)},
			{"watch 10", fake.Hang},
		}, ""},
		{"Overloaded", []step{
			filled,
			{"watch 10", fake.Refuse(http.StatusGone)},
			{"first list", fake.Refuse(http.StatusTooManyRequests)},
			{"first list", fake.Hang},
		}, ""},
		{"FillRefusedForAMoment", []step{
			filled,
			{"watch 10", fake.Refuse(http.StatusGone)},
			{"first list", fake.Refuse(http.StatusUnauthorized)},
			{"first list", fake.Hang},
		}, ""},
		{"FillsRefused", slices.Concat([]step{filled, {"watch 10", fake.Refuse(http.StatusGone)}},
			slices.Repeat([]step{{"first list", fake.Refuse(http.StatusForbidden)}}, 7), []step{{"first list", fake.Hang}}), lost},
		{"Lost", slices.Concat([]step{filled}, refusals("watch 10"), []step{{"first list", fake.Hang}}), lost},
		{"LostWhileTheApiserverFails", slices.Concat([]step{filled}, refusals("watch 10"), []step{
			{"first list", fake.Refuse(http.StatusServiceUnavailable)},
			{"first list", fake.Hang},
		}), lost},
		{"GrantedAgain", slices.Concat([]step{filled}, refusals("watch 10"), []step{
			{"watchlist", d.Stream(d.InitialEventsEnd("20"))},
		}), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, d, Options{}, tt.steps, func(t *testing.T, e *env) {
				e.lookup()
				pass(2 * time.Minute)
				e.CheckPlayed(t)
				got := ""
				if err := e.registry.CheckRights(); err != nil {
					got = err.Error()
				}
				if forbidden := e.registry.States()[0].Forbidden; forbidden != (tt.want != "" || slices.Contains([]string{"NeverGranted", "FillRefusedForAMoment"}, tt.name)) {
					t.Errorf("the state says forbidden: %v; %v", forbidden, e.Calls())
				}
				if got != tt.want {
					t.Errorf("got %q, want %q; %v", got, tt.want, e.Calls())
				}
			})
		})
	}
}

// A right that nobody misses is no reason to stay away.
func TestRightsOfResourcesThatNobodyReadsFailNoCheck(t *testing.T) {
	d := fake.ConfigMaps
	steps := slices.Concat([]step{{"watchlist", d.Cut(d.InitialEventsEnd("10"))}}, refusals("watch 10"), []step{{"first list", fake.Hang}})
	run(t, d, Options{Limits: Limits{Idle: 5 * time.Minute}}, steps, func(t *testing.T, e *env) {
		e.lookup()
		pass(2 * time.Minute)
		if e.registry.CheckRights() == nil {
			t.Fatal("the right is not missed")
		}
		pass(5*time.Minute + enforceEvery)
		if err := e.registry.CheckRights(); err != nil {
			t.Error(err)
		}
	})
}
