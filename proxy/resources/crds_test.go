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

// A client that has a state by the CRD before must list again. The handler that filled the store after a change may have lagged
// behind the CRD, so it is filled again once.
func TestStoreFollowsItsCRD(t *testing.T) {
	d := fake.Widgets
	fill := func(version string, more ...[]byte) step {
		return step{"watchlist", d.Stream(append([][]byte{d.Added("a/x@3"), d.InitialEventsEnd(version)}, more...)...)}
	}
	slowFill := step{"watchlist", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Second)
		fill("40").Respond(w, r)
	}}
	lasts := func(life time.Duration) step {
		return step{"watchlist", d.EndedAfter(life, d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Bookmark("40"))}
	}
	forbidden := step{"crd", fake.Refuse(http.StatusForbidden)}
	was, changed, again := step{"crd", crdAt(1, "5")}, step{"crd", crdAt(2, "30")}, step{"crd", crdAt(3, "60")}
	type seen struct {
		after   time.Duration
		version uint64
	}
	for _, tt := range []struct {
		name      string
		crds      http.HandlerFunc // nil refuses them
		steps     []step
		seen      []seen
		kept      bool // the store of the last two
		discarded map[uint64]bool
	}{
		{"changed", crdEvents(d, 10*time.Second, "30"), []step{was, fill("10", d.Bookmark("40")), changed, changed, fill("50")},
			[]seen{{9 * time.Second, 40}, {5 * time.Second, 50}}, false, map[uint64]bool{29: true, 40: true, 41: false, 50: false}},
		{"filled again, and no more", crdEvents(d, 10*time.Second, "30"), []step{
			was, fill("10", d.Bookmark("40")), changed, changed, {"watchlist", d.Cut()}, // the first one fails
			changed, fill("50", d.Bookmark("55")), changed, fill("60"),
		}, []seen{{9 * time.Second, 40}, {5 * time.Second, 55}, {8 * time.Second, 60}, {5 * time.Minute, 60}}, true,
			map[uint64]bool{29: true, 40: true, 50: true, 55: true, 56: false, 60: false}},
		{"changed again before it is filled again", crdEvents(d, 3*time.Second, "30", "60"),
			[]step{was, fill("10"), changed, changed, fill("50"), again, again, fill("80")},
			[]seen{{9 * time.Second, 80}}, false, map[uint64]bool{10: true, 50: true, 51: false, 80: false}},
		{"changed during the fill", crdEvents(d, time.Second, "30"), []step{was, slowFill, changed, changed, fill("50")},
			[]seen{{8 * time.Second, 50}}, false, nil},
		{"changed in nothing that matters", crdEvents(d, 10*time.Second, "30"),
			[]step{was, fill("10"), {"crd", fake.Refuse(http.StatusInternalServerError)}, {"crd", crdAt(1, "30")}}, // the error tells nothing
			[]seen{{9 * time.Second, 10}, {9 * time.Second, 10}}, true, nil},
		{"a watch that ends early, without the right to read CRDs", nil, []step{forbidden, lasts(time.Minute), forbidden, fill("50")},
			[]seen{{2 * time.Minute, 50}}, false, map[uint64]bool{9: true, 40: true, 41: false, 50: false}},
		{"a change that shows when the watch ends, without the right to watch CRDs", nil,
			[]step{was, lasts(5 * time.Minute), changed, changed, fill("50")},
			[]seen{{5*time.Minute + 3*time.Second, 50}}, false, map[uint64]bool{5: true, 40: true, 41: false, 50: false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run(t, d, Options{CheckEvery: time.Hour}, tt.steps, func(t *testing.T, e *env) {
				if tt.crds != nil {
					e.SetCRDs(tt.crds)
				}
				e.lookup()
				var last, before *CachedResource
				for _, s := range tt.seen {
					pass(s.after)
					before, last = last, e.check(t, s.version, "a/x")
				}
				e.CheckPlayed(t)
				e.checkDiscarded(t, tt.discarded)
				if tt.kept && last.Store != before.Store {
					t.Error("the store was rebuilt")
				}
			})
		})
	}
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
