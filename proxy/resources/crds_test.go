package resources

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"sluice/codec"
	"sluice/test/support/fake"
)

// crdAt responds with a CRD at a version.
func crdAt(generation int, version string) http.HandlerFunc {
	return fake.Body(codec.MediaJSON, fmt.Appendf(nil,
		`{"metadata":{"uid":"u","generation":%d,"resourceVersion":%q},"spec":{"versions":[{"name":"v1","schema":{"p%d":{}}}],`+fake.WidgetNames+`}`,
		generation, version, generation))
}

// crdEvents responds to lists and watches of CRDs: the CRD is at version 5, and changes at others, each after a while.
func crdEvents(d fake.Resource, after time.Duration, versions ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("watch") {
			d.PageBody("6", "", "widgets.example.com@5")(w, r)
			return
		}
		w.Header().Set("Content-Type", codec.MediaJSON)
		_ = http.NewResponseController(w).Flush()
		for _, version := range versions {
			time.Sleep(after)
			_, _ = w.Write(d.Modified("widgets.example.com@" + version))
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

// checkDiscarded compares which versions are discarded with what is wanted.
func (e *env) checkDiscarded(t *testing.T, versions map[uint64]bool) {
	t.Helper()
	for version, want := range versions {
		if got := e.registry.Discarded(t.Context(), e.resource.GVR, version); got != want {
			t.Errorf("version %d is discarded: %v", version, got)
		}
	}
}

// A client that has a state by the CRD before must list again.
func TestStoreIsRebuiltWhenItsCRDChanges(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"crd", crdAt(1, "5")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Bookmark("40"))},
		{"crd", crdAt(2, "30")},
		{"crd", crdAt(2, "30")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("50"))},
	}
	run(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, e *env) {
		e.SetCRDs(crdEvents(d, 10*time.Second, "30"))
		e.lookup()
		pass(9 * time.Second)
		e.check(t, 40, "a/x")
		pass(5 * time.Second)
		e.check(t, 50, "a/x")
		e.CheckPlayed(t)
		e.checkDiscarded(t, map[uint64]bool{29: true, 40: true, 41: false, 50: false})
	})
}

// The handler that filled it may have lagged behind the CRD. It is filled again once.
func TestStoreIsFilledAgainSomeTimeAfterItsCRDHasChanged(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"crd", crdAt(1, "5")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Bookmark("40"))},
		{"crd", crdAt(2, "30")},
		{"crd", crdAt(2, "30")},
		{"watchlist", d.Cut()}, // the first one fails
		{"crd", crdAt(2, "30")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("50"), d.Bookmark("55"))},
		{"crd", crdAt(2, "30")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("60"))},
	}
	run(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, e *env) {
		e.SetCRDs(crdEvents(d, 10*time.Second, "30"))
		e.lookup()
		pass(9 * time.Second)
		e.check(t, 40, "a/x")
		pass(5 * time.Second)
		e.check(t, 55, "a/x")
		pass(8 * time.Second)
		again := e.check(t, 60, "a/x")
		e.CheckPlayed(t)
		e.checkDiscarded(t, map[uint64]bool{29: true, 40: true, 50: true, 55: true, 56: false, 60: false})
		pass(5 * time.Minute)
		if e.check(t, 60, "a/x").Store != again.Store {
			t.Error("the store was rebuilt once more")
		}
	})
}

// A registry that has just started has read no CRD before.
func TestFirstStoreIsFilledAgainIfItsCRDHasJustChanged(t *testing.T) {
	d := fake.Widgets
	for _, age := range []time.Duration{0, time.Hour} {
		crd := func(w http.ResponseWriter, r *http.Request) {
			fake.Body(codec.MediaJSON, fmt.Appendf(nil, `{"metadata":{"uid":"u","generation":2,"managedFields":[{"time":%q}]},"spec":{"versions":[{"name":"v1"}],`+fake.WidgetNames+`}`,
				time.Now().Add(-age).UTC().Format(time.RFC3339)))(w, r)
		}
		steps := []step{{"crd", crd}, {"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))}}
		if age == 0 {
			steps = append(steps, step{"crd", crd}, step{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("20"))})
		}
		run(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, e *env) {
			e.lookup()
			pass(5 * time.Second)
			e.check(t, 10, "a/x")
			pass(5 * time.Minute)
			if age == 0 {
				e.check(t, 20, "a/x")
			}
			e.CheckPlayed(t)
			if n := len(e.Calls()); n != len(steps) {
				t.Errorf("%d calls for a CRD of %v: %v", n, age, e.Calls())
			}
		})
	}
}

// The second change comes before the store is filled again after the first.
func TestVersionsOfAStoreThatWasToBeFilledAgainAreDiscarded(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"crd", crdAt(1, "5")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"crd", crdAt(2, "30")},
		{"crd", crdAt(2, "30")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("50"))},
		{"crd", crdAt(3, "60")},
		{"crd", crdAt(3, "60")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("80"))},
	}
	run(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, e *env) {
		e.SetCRDs(crdEvents(d, 3*time.Second, "30", "60"))
		e.lookup()
		pass(9 * time.Second)
		e.check(t, 80, "a/x")
		e.CheckPlayed(t)
		e.checkDiscarded(t, map[uint64]bool{10: true, 50: true, 51: false, 80: false})
	})
}

// The apiserver ends the watch when the CRD changes, which Sluice may not read.
func TestVersionsOfAStoreWithoutACRDAreDiscardedIfItsWatchEndsEarly(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"crd", fake.Refuse(http.StatusForbidden)},
		{"watchlist", d.EndedAfter(time.Minute, d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Bookmark("40"))},
		{"crd", fake.Refuse(http.StatusForbidden)},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("50"))},
	}
	run(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, e *env) {
		e.lookup()
		pass(2 * time.Minute)
		e.check(t, 50, "a/x")
		e.CheckPlayed(t)
		e.checkDiscarded(t, map[uint64]bool{9: true, 40: true, 41: false, 50: false})
	})
}

func TestStoreGoesOnWhenItsCRDChangesInNothingThatMatters(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"crd", crdAt(1, "5")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"crd", fake.Refuse(http.StatusInternalServerError)}, // tells nothing
		{"crd", crdAt(1, "30")},
	}
	run(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, e *env) {
		e.SetCRDs(crdEvents(d, 10*time.Second, "30"))
		e.lookup()
		pass(9 * time.Second)
		before := e.check(t, 10, "a/x")
		pass(9 * time.Second)
		if e.check(t, 10, "a/x").Store != before.Store {
			t.Error("the store was rebuilt")
		}
		e.CheckPlayed(t)
	})
}

// A change during a fill is not missed.
func TestStoreIsRebuiltWhenItsCRDHasChangedDuringTheFill(t *testing.T) {
	d := fake.Widgets
	slow := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Second)
		d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("40"))(w, r)
	}
	steps := []step{
		{"crd", crdAt(1, "5")},
		{"watchlist", slow},
		{"crd", crdAt(2, "30")},
		{"crd", crdAt(2, "30")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("50"))},
	}
	run(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, e *env) {
		e.SetCRDs(crdEvents(d, time.Second, "30"))
		e.lookup()
		pass(8 * time.Second)
		e.check(t, 50, "a/x")
		e.CheckPlayed(t)
	})
}

// Sluice may read CRDs, and not watch them.
func TestVersionsAreDiscardedIfTheCRDHasChangedWhenTheWatchEnds(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"crd", crdAt(1, "5")},
		{"watchlist", d.EndedAfter(5*time.Minute, d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Bookmark("40"))},
		{"crd", crdAt(2, "30")},
		{"crd", crdAt(2, "30")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("50"))},
	}
	run(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, e *env) {
		e.lookup()
		pass(5*time.Minute + 3*time.Second)
		e.check(t, 50, "a/x")
		e.CheckPlayed(t)
		e.checkDiscarded(t, map[uint64]bool{5: true, 40: true, 41: false, 50: false})
	})
}
