package resources

import (
	"testing"
	"time"

	"sluice/test/support/fake"
)

// A client that has a state of a discarded history would never learn what differs.
func TestVersionsThatADivergedStoreHasShownAreDiscarded(t *testing.T) {
	d := fake.ConfigMaps
	first := step{"watchlist", d.EndedAfter(time.Second, d.Added("a/x@3"), d.Added("a/gone@8"), d.InitialEventsEnd("10"), d.Bookmark("15"))}
	for _, row := range []struct {
		name      string
		steps     []step
		version   uint64 // of the store that follows; 0 while it is being filled
		discarded map[uint64]bool
	}{
		{"the same history", []step{
			first,
			{"watch 15", d.Stream()},
			{"metadata", d.PageBody("20", "", "a/gone@8", "a/x@3")},
		}, 20, map[uint64]bool{3: false, 10: false, 15: false, 16: false}},
		{"another history, above the version", []step{
			first,
			{"watch 15", d.Stream()},
			{"metadata", d.PageBody("20", "", "a/x@3")},
			{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("21"))},
		}, 21, map[uint64]bool{3: true, 10: true, 15: true, 16: false, 21: false}},
		{"another history, below the version", []step{
			first,
			{"watch 15", d.Stream()},
			{"metadata", fake.AtVersion(12)},
			{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("12"), d.Bookmark("13"))},
			{"metadata", d.PageBody("13", "", "a/x@3")},
		}, 13, map[uint64]bool{3: true, 11: true, 12: false, 13: false, 14: true, 15: true, 16: false}},
		{"a history whose store is behind the apiserver", []step{
			first,
			{"watch 15", d.Stream()},
			{"metadata", fake.AtVersion(12)},
			{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("12"))},
			{"metadata", d.PageBody("14", "", "a/x@3")},
		}, 12, map[uint64]bool{14: false, 15: true, 16: false}},
		{"an apiserver that began with another history", []step{
			first,
			{"watch 15", fake.Refuse(410)},
			{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("12"), d.Bookmark("18"))},
		}, 18, map[uint64]bool{3: true, 11: true, 12: false, 14: false, 15: true, 16: false}},
		{"expired", []step{
			first,
			{"watch 15", fake.Refuse(410)},
			{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("18"))},
		}, 18, map[uint64]bool{3: false, 15: false, 18: false}},
		// Watches would pass to the apiserver.
		{"while the next store is being filled", []step{
			first,
			{"watch 15", d.Stream()},
			{"metadata", fake.AtVersion(14)},
			{"watchlist", fake.Hang},
		}, 0, map[uint64]bool{15: true, 16: false}},
	} {
		t.Run(row.name, func(t *testing.T) {
			run(t, d, Options{}, row.steps, func(t *testing.T, e *env) {
				e.lookup()
				pass(20 * time.Second)
				version := uint64(0)
				if c, _ := e.registry.Look(d.GVR); c != nil {
					version = c.Store.Snapshot().Version
				}
				if version != row.version {
					t.Fatalf("the store is at version %d, want %d; calls %v", version, row.version, e.Calls())
				}
				e.checkDiscarded(t, row.discarded)
				e.CheckPlayed(t)
				if other := fake.Widgets.GVR; e.registry.Discarded(t.Context(), other, 1) {
					t.Errorf("versions of %s are discarded", other)
				}
			})
		})
	}
}

// A client that has listed from the apiserver since would list again and again.
func TestVersionsOfTheNextHistoryAreKnownWhileItHasNoStore(t *testing.T) {
	d := fake.ConfigMaps
	steps := []step{
		{"watchlist", d.Cut(d.InitialEventsEnd("100"))},
		{"watch 100", d.Stream()},
		{"metadata", fake.AtVersion(50)},
		{"watchlist", d.Cut(d.InitialEventsEnd("50"), d.Bookmark("60"))},
		{"watch 60", d.Stream()},
		{"metadata", d.PageBody("60", "")},
	}
	run(t, d, Options{}, steps, func(t *testing.T, e *env) {
		e.lookup()
		pass(5 * time.Second)
		e.CheckPlayed(t)
		r := e.registry
		r.room.setLimit(1)
		r.room.enforce(time.Now())
		pass(time.Minute)
		if c, _ := r.Look(d.GVR); c != nil {
			t.Fatal("the store is not stopped")
		}
		e.checkDiscarded(t, map[uint64]bool{49: true, 50: false, 60: false, 65: false, 100: true, 101: false})
	})
}
