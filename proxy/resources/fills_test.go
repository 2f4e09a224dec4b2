package resources

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sluice/test/support/fake"
)

// A fill has places by its length. A user leaves a quarter of them to others, and a fill that hangs keeps none.
func TestFillsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFills()
		gone, cancel := context.WithCancel(t.Context())
		cancel() // whoever finds no place leaves at once
		enter := func(user string, bytes int64, want bool) (leave func()) {
			t.Helper()
			leave, err := f.enter(gone, bytes, user)
			if (err == nil) != want {
				t.Errorf("a fill of %s with %d bytes has entered: %v", user, bytes, err == nil)
			}
			return leave
		}
		for range maxFills * 3 / 4 {
			enter("a", 1, true)
		}
		enter("a", 1, false)
		enter("b", 1, true)
		time.Sleep(fillPlaceFor + time.Second)
		const huge = 100 * fillBytes
		first, second, small := enter("a", huge, true), enter("b", huge, true), enter("c", 1, true)
		enter("d", huge, false)
		first()
		first() // again, without effect
		third := enter("d", huge, true)
		for _, leave := range []func(){second, small, third} {
			leave()
		}
		if _, taken, waiting := f.Numbers(); taken != 0 || waiting != 0 {
			t.Errorf("%d places are taken, %d fills wait", taken, waiting)
		}
	})
}

// Otherwise a few apiservers that fail would use up all places.
func TestEveryFillGivesItsPlaceBack(t *testing.T) {
	d := fake.ConfigMaps
	for name, steps := range map[string][]step{
		"in sync":               {{"watchlist", d.Stream(d.InitialEventsEnd("10"))}},
		"a list instead":        {{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)}, {"page", d.PageBody("10", "")}},
		"failed, then in sync":  {{"watchlist", fake.Refuse(http.StatusInternalServerError)}, {"page", fake.Refuse(http.StatusInternalServerError)}, {"watchlist", d.Stream(d.InitialEventsEnd("10"))}},
		"cut, then in sync":     {{"watchlist", d.Cut(d.Added("a/x@3"))}, {"watchlist", d.Stream(d.InitialEventsEnd("10"))}},
		"withdrawn and rebuilt": {{"watchlist", d.Ended(d.InitialEventsEnd("10"), d.Error(http.StatusGone))}, {"watchlist", d.Stream(d.InitialEventsEnd("10"))}},
		"resumed": {
			{"watchlist", d.Cut(d.InitialEventsEnd("10"))}, {"watch 10", d.Stream()},
			{"metadata", d.PageBody("20", "")},
		},
		"not served": {{"watchlist", fake.Refuse(http.StatusNotFound)}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, d, Options{}, steps, func(t *testing.T, e *env) {
				e.lookup()
				pass(fillPlaceFor / 2) // less than after which a place is taken back
				e.CheckPlayed(t)
				for _, f := range []*fills{&e.registry.descriptions, &e.registry.fills} {
					if _, running, waiting := f.Numbers(); running != 0 || waiting != 0 {
						t.Errorf("%d places are taken, %d fills wait", running, waiting)
					}
				}
			})
		})
	}
}

// After a reconnection the apiserver would otherwise list the metadata of everything at once.
func TestResumedStoresTakeTurnsToBeCompared(t *testing.T) {
	d := fake.ConfigMaps
	resumed := []step{
		{"watchlist", d.EndedAfter(5*time.Second, d.InitialEventsEnd("10"))}, {"watch 10", d.Stream()},
	}
	run(t, d, Options{}, append(resumed, step{"metadata", d.PageBody("20", "")}), func(t *testing.T, e *env) {
		e.lookup()
		pass(time.Second)
		var leave func()
		for i := range maxFills {
			var err error
			if leave, err = e.registry.fills.enter(t.Context(), 0, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		pass(fillPlaceFor / 2)
		if _, _, n := e.registry.fills.Queue.Numbers(); n != 1 {
			t.Errorf("%d wait", n)
		}
		leave()
		pass(time.Second)
		e.CheckPlayed(t)
		e.check(t, 20)
	})
}
