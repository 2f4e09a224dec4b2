package resources

import (
	"encoding/binary"
	"math"
	"net/http"
	"testing"
	"time"

	"sluice/cache"
	"sluice/codec"
)

var all cache.Range

// What an upstream may do to a feed, and what has to come of it.
func TestFeedSurvives(t *testing.T) {
	tests := []struct {
		name    string
		steps   func(d dialect) []step
		stores  int    // how many were published
		version uint64 // of the last; 0 means that none is published
		keys    []string
	}{
		{"an upstream that behaves", func(d dialect) []step {
			return []step{{"state", d.stream(d.added("a/x", "3"), d.added("a/y", "2"), d.synced("10"), d.modified("a/x", "11"), d.deleted("a/y", "12"), d.bookmark("15"))}}
		}, 1, 15, []string{"a/x"}},
		{"the order of keys", func(d dialect) []step {
			return []step{{"state", d.stream(d.added("a/x", "3"), d.added("a-b/x", "2"), d.added("a0/x", "4"), d.synced("10"))}}
		}, 1, 10, []string{"a-b/x", "a/x", "a0/x"}},
		{"a stream cut between frames", func(d dialect) []step {
			return []step{
				{"state", d.cut(d.added("a/x", "3"), d.synced("10"), d.modified("a/x", "11"))},
				{"watch 11", d.stream(d.added("a/y", "12"))},
			}
		}, 1, 12, []string{"a/x", "a/y"}},
		{"a stream cut in a frame", func(d dialect) []step {
			event := d.modified("a/x", "11")
			return []step{
				{"state", d.cut(d.added("a/x", "3"), d.synced("10"), event[:len(event)/2])},
				{"watch 10", d.cut(event, d.bookmark("12")[:3])},
				{"watch 11", d.stream(d.bookmark("13"))},
			}
		}, 1, 13, []string{"a/x"}},
		{"a stream that ends in a frame", func(d dialect) []step {
			event := d.modified("a/x", "11")
			return []step{
				{"state", d.ended(d.added("a/x", "3"), d.synced("10"), event[:len(event)-2])},
				{"watch 10", d.stream(event)},
			}
		}, 1, 11, []string{"a/x"}},
		{"a state cut short", func(d dialect) []step {
			return []step{
				{"state", d.cut(d.added("a/gone", "3"))},
				{"state", d.ended(d.added("a/gone", "3"))},
				{"state", d.stream(d.added("a/x", "4"), d.synced("10"))},
			}
		}, 1, 10, []string{"a/x"}},
		{"history that is gone, told by an event", func(d dialect) []step {
			return []step{
				{"state", d.cut(d.added("a/x", "3"), d.synced("10"))},
				{"watch 10", d.ended(d.failure(http.StatusGone))},
				{"state", d.stream(d.added("a/y", "30"), d.synced("40"))},
			}
		}, 2, 40, []string{"a/y"}},
		{"history that is gone, told by the status", func(d dialect) []step {
			return []step{
				{"state", d.cut(d.added("a/x", "3"), d.synced("10"))},
				{"watch 10", status(http.StatusGone)},
				{"state", d.stream(d.synced("40"))},
			}
		}, 2, 40, nil},
		{"an error in the stream", func(d dialect) []step {
			return []step{
				{"state", d.ended(d.added("a/x", "3"), d.synced("10"), d.failure(http.StatusInternalServerError))},
				{"watch 10", d.ended(d.added("a/y", "11"), d.failure(http.StatusInternalServerError))},
				{"watch 11", d.stream(d.bookmark("12"))},
			}
		}, 1, 12, []string{"a/x", "a/y"}},
		{"an error in the state", func(d dialect) []step {
			return []step{
				{"state", d.ended(d.added("a/x", "3"), d.failure(http.StatusGatewayTimeout))},
				{"state", d.stream(d.synced("10"))},
			}
		}, 1, 10, nil},
		{"refusals of the stream", func(d dialect) []step {
			return []step{
				{"state", d.cut(d.added("a/x", "3"), d.synced("10"))},
				{"watch 10", status(http.StatusInternalServerError)},
				{"watch 10", status(http.StatusServiceUnavailable, "Retry-After", "1")},
				{"watch 10", status(http.StatusTooManyRequests, "Retry-After", "1")},
				{"watch 10", d.stream(d.deleted("a/x", "11"))},
			}
		}, 1, 11, nil},
		{"a right that is withdrawn and granted again", func(d dialect) []step {
			return []step{
				{"state", d.cut(d.added("a/x", "3"), d.synced("10"))},
				{"watch 10", status(http.StatusForbidden)},
				{"look", status(http.StatusForbidden)},
				{"look", status(http.StatusUnauthorized)},
				{"state", status(http.StatusForbidden)},
				{"state", d.stream(d.synced("40"))},
			}
		}, 2, 40, nil},
		{"a right that is withdrawn in the stream", func(d dialect) []step {
			return []step{
				{"state", d.ended(d.added("a/x", "3"), d.synced("10"), d.failure(http.StatusForbidden))},
				{"discovery", status(http.StatusForbidden)},
			}
		}, 1, 0, nil},
		{"no streaming lists", func(d dialect) []step {
			return []step{
				{"state", status(http.StatusUnprocessableEntity)},
				{"page", d.pageBody("10", "two", object{"a/x", "3"}, object{"a/y", "4"})},
				{"page two", d.pageBody("10", "three", object{"b/x", "3"})},
				{"page three", d.pageBody("10", "")},
				{"watch 10", d.cut(d.deleted("a/y", "11"))},
				{"watch 11", status(http.StatusGone)},
				{"page", d.pageBody("40", "", object{"c/z", "5"})},
				{"watch 40", d.stream(d.added("c/zz", "41"))},
			}
		}, 2, 41, []string{"c/z", "c/zz"}},
		{"pages that expire", func(d dialect) []step {
			return []step{
				{"state", status(http.StatusBadRequest)},
				{"page", d.pageBody("10", "two", object{"a/gone", "3"})},
				{"page two", status(http.StatusGone)},
				{"page", d.pageBody("20", "two", object{"a/x", "3"})},
				{"page two", d.pageBody("20", "", object{"b/x", "3"})},
				{"watch 20", d.stream()},
			}
		}, 1, 20, []string{"a/x", "b/x"}},
		{"pages that fail", func(d dialect) []step {
			list := d.page("10", "", object{"a/gone", "3"})
			return []step{
				{"state", status(http.StatusUnprocessableEntity)},
				{"page", whole(d.contentType(), list[:len(list)-9])},
				{"page", d.cut(list[:len(list)/2])},
				{"page", status(http.StatusTooManyRequests, "Retry-After", "3")},
				{"page", d.pageBody("20", "", object{"a/x", "3"})},
				{"watch 20", d.stream()},
			}
		}, 1, 20, []string{"a/x"}},
		{"an event that contradicts the state", func(d dialect) []step {
			return []step{
				{"state", d.ended(d.added("a/x", "3"), d.synced("10"), d.modified("a/never", "11"))},
				{"state", d.ended(d.added("a/x", "3"), d.synced("20"), d.added("a/x", "21"))},
				{"state", d.ended(d.added("a/x", "3"), d.synced("30"), d.modified("a/x", "25"))},
				{"state", d.ended(d.added("a/x", "3"), d.synced("40"), d.bookmark("35"))},
				{"state", d.stream(d.added("a/x", "3"), d.synced("50"))},
			}
		}, 5, 50, []string{"a/x"}},
		{"events that nobody can read", func(d dialect) []step {
			return []step{
				{"state", d.ended(d.added("a/x", "3"), d.synced("10"), d.event("RENAMED", object{"a/x", "11"}))},
				{"state", d.ended(d.added("a/x", "3"), d.synced("20"), d.modified("a/x", "v21"))},
				{"state", d.ended(d.added("a/x", "3"), d.synced("30"), d.modified("a/x", ""))},
				{"state", d.ended(d.added("a/x", "3"), d.synced("40"), d.bookmark("-1"))},
				{"state", d.ended(d.added("a/x", "3"), d.synced("50"), d.frame("MODIFIED", []byte(`"k8s"`)))},
				{"state", d.stream(d.added("a/x", "3"), d.synced("60"))},
			}
		}, 6, 60, []string{"a/x"}},
		{"states that nobody can read", func(d dialect) []step {
			return []step{
				{"state", d.ended(d.added("a/x", "v3"), d.synced("10"))},
				{"state", d.ended(d.added("a/x", "3"), d.synced("v10"))},
				{"state", d.stream(d.added("a/x", "3"), d.synced("20"))},
			}
		}, 1, 20, []string{"a/x"}},
		{"discovery that fails", func(d dialect) []step {
			return []step{
				{"discovery", status(http.StatusServiceUnavailable)},
				{"discovery", whole(codec.MediaJSON, []byte(`{"resources":[`))},
				{"discovery", d.cut([]byte("{"))},
				{"look", whole("text/html", []byte("<html>"))},
				{"state", d.stream(d.synced("10"))},
			}
		}, 1, 10, nil},
		{"a stream in an encoding that was not asked for", func(d dialect) []step {
			return []step{
				{"state", d.cut(d.added("a/x", "3"), d.synced("10"))},
				{"watch 10", whole("text/html", []byte("<html>"))},
				{"state", whole("application/yaml", []byte("x"))},
			}
		}, 1, 0, nil},
	}
	for _, tt := range tests {
		for name, d := range dialects {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				inWorld(t, d, Options{}, tt.steps(d), func(t *testing.T, w *world) {
					if _, reason := w.registry.Lookup(d.gvr); reason != NotInSync {
						t.Errorf("first call: %s", reason)
					}
					pass(2 * time.Minute)
					w.played(t)
					w.check(t, tt.version, tt.keys...)
					if n := w.logged("store is in sync"); n != tt.stores {
						t.Errorf("%d stores were published, want %d", n, tt.stores)
					}
				})
			})
		}
	}
}

// A frame is not made room for because it says that it is large.
func TestHugeFrames(t *testing.T) {
	d := configMaps
	steps := []step{
		{"state", d.ended(d.added("a/x", "3"), d.synced("10"), binary.BigEndian.AppendUint32(nil, math.MaxUint32))},
		{"state", d.ended(d.added("a/x", "3"), d.synced("10"), binary.BigEndian.AppendUint32(nil, frameLimit+1))},
		{"state", d.stream(d.added("a/x", "3"), d.synced("20"))},
	}
	inWorld(t, d, Options{}, steps, func(t *testing.T, w *world) {
		w.registry.Lookup(d.gvr)
		pass(time.Minute)
		w.played(t)
		w.check(t, 20, "a/x")
	})
}

// The watch of a built-in resource that ends is resumed. That of a custom one
// ends before its time when the definition has changed: the store is made anew.
func TestStreamsThatEnd(t *testing.T) {
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			steps := []step{
				{"state", d.ended(d.added("a/x", "3"), d.synced("10"))},
				{"watch 10", d.ended()},
				{"watch 10", d.stream(d.deleted("a/x", "11"))},
			}
			var keys []string
			if d.contentType() == codec.MediaJSON {
				keys = []string{"a/y"}
				steps = []step{steps[0], {"state", d.stream(d.added("a/y", "11"), d.synced("11"))}}
			}
			inWorld(t, d, Options{}, steps, func(t *testing.T, w *world) {
				w.registry.Lookup(d.gvr)
				pass(time.Minute)
				w.played(t)
				w.check(t, 11, keys...)
			})
		})
	}
}
