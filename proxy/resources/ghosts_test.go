package resources

import (
	"testing"
	"time"

	"sluice/test/support/fake"
)

// An apiserver that lists between two deletions of one version never sends the others to a watch of this list.
func TestStoreThatWasFilledBetweenTwoDeletionsIsRebuilt(t *testing.T) {
	d := fake.ConfigMaps
	fill := step{"watchlist", d.Stream(d.Added("a/ghost@3"), d.Added("a/x@4"), d.InitialEventsEnd("10"))}
	again := step{"watchlist", d.Stream(d.Added("a/x@4"), d.InitialEventsEnd("12"))}
	for _, row := range []struct {
		name  string
		steps []step
		keys  []string
	}{
		{"a ghost", []step{fill, {"metadata watch", d.Ended(d.Deleted("a/gone@10"), d.Deleted("a/ghost@10"), d.Bookmark("11"))}, again}, []string{"a/x"}},
		{"a ghost, and nothing follows", []step{fill, {"metadata watch", d.Ended(d.Deleted("a/ghost@10"), d.Bookmark("10"))}, again}, []string{"a/x"}},
		{"another try", []step{
			fill, {"metadata watch", fake.Refuse(503)}, {"metadata watch", d.Ended(d.Deleted("a/ghost@10"), d.Bookmark("11"))}, again,
		}, []string{"a/x"}},
		{"whole", []step{fill, {"metadata watch", d.Ended(d.Deleted("a/gone@10"), d.Bookmark("11"))}}, []string{"a/ghost", "a/x"}},
		{"a write at the version of the list", []step{
			{"watchlist", d.Stream(d.Added("a/x@10"), d.InitialEventsEnd("10"))}, {"metadata watch", d.Ended(d.Added("a/x@10"), d.Bookmark("10"), d.Bookmark("11"))},
		}, []string{"a/x"}},
		{"a new object of the name", []step{
			{"watchlist", d.Stream(d.InitialEventsEnd("10"), d.Added("a/x@11"))}, {"metadata watch", d.Ended(d.Deleted("a/x@10"), d.Bookmark("11"))},
		}, []string{"a/x"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			run(t, d, Options{CheckEvery: time.Hour}, row.steps, func(t *testing.T, e *env) {
				e.lookup()
				pass(2*ghostTries*ghostsAfter + time.Second)
				e.CheckPlayed(t)
				e.check(t, e.registry.Peek(d.GVR).Store.Snapshot().Version, row.keys...)
				if discarded, want := e.registry.Discarded(t.Context(), d.GVR, 10), len(row.steps) > 2; discarded != want {
					t.Errorf("clients that have listed the ghost list again: %v", discarded)
				}
			})
		})
	}
}
