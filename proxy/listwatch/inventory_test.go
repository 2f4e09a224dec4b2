package listwatch

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/test/support/fake"
)

// A list that names not every object, or is not of one version, proves nothing.
func TestInventoryFindsEveryDifferenceOrFails(t *testing.T) {
	for name, d := range fake.Encodings {
		type pages []http.HandlerFunc
		one := func(objects ...string) pages { return pages{d.PageBody("25", "", objects...)} }
		first, last, gone := d.PageBody("20", "two", "a/x@5", "a/y@6"), d.PageBody("20", "", "b/z@7"), fake.Refuse(http.StatusGone)
		for _, row := range []struct {
			name    string
			asked   uint64 // the version that is asked for; 0 for the newest
			pages   pages
			version uint64 // of the inventory; 0 if it fails
			differ  []tree.Key
		}{
			{"equal", 0, one("a/x@5", "a/y@6", "b/z@7"), 25, nil},
			{"another version of an object", 0, one("a/x@5", "a/y@8", "b/z@7"), 25, []tree.Key{"a/y"}},
			{"one less", 0, one("a/x@5", "a/y@6"), 25, []tree.Key{"b/z"}},
			{"empty", 0, one(), 25, []tree.Key{"a/x", "a/y", "b/z"}},
			{"a part", 0, pages{d.PageBody("25", "more", "a/x@5", "a/y@6", "b/z@7")}, 0, nil},
			{"not in order", 0, one("b/z@7", "a/x@5", "a/y@6"), 0, nil},
			{"twice", 0, one("a/x@5", "a/x@5", "a/y@6", "b/z@7"), 0, nil},
			{"without version of an object", 0, one("a/x@", "a/y@6", "b/z@7"), 0, nil},
			{"without version", 0, pages{d.PageBody("", "", "a/x@5", "a/y@6", "b/z@7")}, 0, nil},
			{"refused", 0, pages{fake.Refuse(http.StatusForbidden)}, 0, nil},
			{"two pages", 0, pages{first, last}, 20, nil},
			{"pages of two versions", 0, pages{first, d.PageBody("21", "", "b/z@7")}, 0, nil},
			{"gone between pages", 0, pages{first, gone, d.PageBody("30", "two", "a/x@5", "a/y@6"), d.PageBody("30", "", "b/z@7")}, 30, nil},
			{"gone again", 0, pages{first, gone, first, gone}, 0, nil},
			{"of a version", 20, pages{first, last}, 20, nil},
			{"of a version, an older object", 20, pages{d.PageBody("20", "two", "a/x@5", "a/y@4"), last}, 20, []tree.Key{"a/y"}},
			{"of a version, one more", 20, pages{first, d.PageBody("20", "", "b/z@7", "b/zz@8")}, 20, []tree.Key{"b/zz"}},
			{"of a version, one less", 20, pages{first, d.PageBody("20", "")}, 20, []tree.Key{"b/z"}},
			{"of a version that is gone", 20, pages{first, gone}, 0, nil},
		} {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				steps := []step{{"watchlist", d.Stream(d.Added("a/x@5"), d.Added("a/y@6"), d.Added("b/z@7"), d.InitialEventsEnd("20"))}}
				for _, page := range row.pages {
					steps = append(steps, step{"metadata", func(w http.ResponseWriter, r *http.Request) {
						q := r.URL.Query()
						exact := q.Get("resourceVersion") == "20" && q.Get("resourceVersionMatch") == "Exact" && q.Get("limit") != ""
						if exact != (row.asked > 0) && !q.Has("continue") {
							t.Errorf("asks for %s", r.URL.RawQuery)
						}
						page(w, r)
					}})
				}
				run(t, d, steps, func(t *testing.T, e *env) {
					pass(time.Second)
					r, err := e.client.Session().Inventory(t.Context(), cache.Scope{}, row.asked)
					e.CheckPlayed(t)
					if (err == nil) != (row.version > 0) || err == nil && r.Version != row.version {
						t.Fatalf("version %d, %v", r.Version, err)
					}
					if err != nil {
						return
					}
					if got := slices.Collect(r.Differing(e.store.Snapshot())); !slices.Equal(got, row.differ) {
						t.Errorf("%q differ", got)
					}
					if row.asked > 0 { // of the past
						return
					}
					confirmed, err := e.store.ConfirmState(r)
					if confirmed != (row.differ == nil) || err != nil || confirmed && e.store.Snapshot().Version != row.version {
						t.Errorf("confirmed: %v, %v, at version %d", confirmed, err, e.store.Snapshot().Version)
					}
				})
			})
		}
	}
}

// A kind without a selector of namespaces is listed in all of them.
func TestInventoryOfAScopeHasNoOtherObjects(t *testing.T) {
	d := fake.ConfigMaps
	all := d.PageBody("10", "", "a/x@5", "a/y@6", "b/x@7")
	steps := []step{{"watchlist", d.Stream(d.InitialEventsEnd("10"))}, {"metadata", all}, {"metadata", all}}
	run(t, d, steps, func(t *testing.T, e *env) {
		pass(time.Second)
		for _, row := range []struct {
			scope cache.Scope
			want  int
		}{{cache.Scope{Namespace: "a"}, 2}, {cache.Scope{Key: "b/x"}, 1}} {
			r, err := e.client.Session().Inventory(t.Context(), row.scope, 0)
			if err != nil || r.Len() != row.want {
				t.Errorf("%+v: %d objects, %v", row.scope, r.Len(), err)
			}
		}
	})
}

// Who writes objects chooses how long their metadata is.
func TestPagesOfInventoriesAreBounded(t *testing.T) {
	d := fake.ConfigMaps
	var l limits
	steps := []step{
		{"watchlist", d.Stream(d.Added("a/x@5"), d.Added("a/y@6"), d.InitialEventsEnd("10"))},
		{"metadata", l.of(long(d, maxPageBytes, "", "a/x@5", "a/y@6"))},
		{"metadata", l.of(long(d, pageBytes/2, "two", "a/x@5"))},
		{"metadata", l.of(d.PageBody("10", "", "a/y@6"))},
	}
	run(t, d, steps, func(t *testing.T, e *env) {
		pass(time.Second)
		r, err := e.client.Session().Inventory(t.Context(), cache.Scope{}, 0)
		if err != nil || !r.Matches(e.store.Snapshot()) || r.Bytes < maxPageBytes+pageBytes/2 {
			t.Fatalf("%+v, %v", r, err)
		}
		l.check(t, firstPage, firstPage/shrink, 2*(firstPage/shrink)-1)
		if got := e.client.Session().inventoryPage.Load(); got != 1 { // as two objects of so many bytes have shown
			t.Errorf("the next inventory begins with %d objects", got)
		}
	})
}
