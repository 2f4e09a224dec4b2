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

func TestInventoryOfAVersionFindsEveryDifferenceInItsPages(t *testing.T) {
	for _, row := range []struct {
		name          string
		first, second []string // the apiserver's pages
		differ        []tree.Key
	}{
		{"equal", []string{"a/x@5", "a/y@6"}, []string{"a/z@7"}, nil},
		{"an older version", []string{"a/x@5", "a/y@4"}, []string{"a/z@7"}, []tree.Key{"a/y"}},
		{"one more", []string{"a/x@5", "a/y@6"}, []string{"a/z@7", "a/zz@8"}, []tree.Key{"a/zz"}},
		{"one less", []string{"a/x@5", "a/y@6"}, nil, []tree.Key{"a/z"}},
		{"none", nil, nil, []tree.Key{"a/x", "a/y", "a/z"}},
	} {
		for name, d := range fake.Encodings {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				exact := false
				first := func(w http.ResponseWriter, req *http.Request) {
					q := req.URL.Query()
					exact = q.Get("resourceVersion") == "20" && q.Get("resourceVersionMatch") == "Exact" && q.Get("limit") != ""
					d.PageBody("20", "two", row.first...)(w, req)
				}
				steps := []step{
					{"watchlist", d.Stream(d.Added("a/x@5"), d.Added("a/y@6"), d.Added("a/z@7"), d.InitialEventsEnd("20"))},
					{"metadata", first},
					{"metadata", d.PageBody("20", "", row.second...)},
				}
				run(t, d, steps, func(t *testing.T, e *env) {
					pass(time.Second)
					r, err := e.client.Session().Inventory(t.Context(), cache.Scope{}, 20)
					if err != nil || !exact {
						t.Fatalf("of the version of the store: %v, %v", exact, err)
					}
					if got := slices.Collect(r.Differing(e.store.Snapshot())); !slices.Equal(got, row.differ) {
						t.Errorf("%q differ", got)
					}
				})
			})
		}
	}
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

// A list that is not of one version proves nothing.
func TestInventoryIsOfOneVersion(t *testing.T) {
	d := fake.ConfigMaps
	first, gone := d.PageBody("20", "two", "a/x@5"), fake.Refuse(http.StatusGone)
	for _, row := range []struct {
		name    string
		version uint64 // that is asked for
		pages   []http.HandlerFunc
		proves  uint64 // the version of the inventory; 0 if it fails
	}{
		{"the same", 0, []http.HandlerFunc{first, d.PageBody("20", "", "a/y@6")}, 20},
		{"another one", 0, []http.HandlerFunc{first, d.PageBody("21", "", "a/y@6")}, 0},
		{"a version that is gone", 0, []http.HandlerFunc{first, gone, d.PageBody("30", "two", "a/x@5"), d.PageBody("30", "", "a/y@6")}, 30},
		{"a version that is gone again", 0, []http.HandlerFunc{first, gone, first, gone}, 0},
		{"the version that was asked for is gone", 20, []http.HandlerFunc{first, gone}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			steps := []step{{"watchlist", d.Stream(d.Added("a/x@5"), d.Added("a/y@6"), d.InitialEventsEnd("20"))}}
			for _, page := range row.pages {
				steps = append(steps, step{"metadata", page})
			}
			run(t, d, steps, func(t *testing.T, e *env) {
				pass(time.Second)
				r, err := e.client.Session().Inventory(t.Context(), cache.Scope{}, row.version)
				if proves := err == nil && r.Version == row.proves && r.Matches(e.store.Snapshot()); proves != (row.proves > 0) {
					t.Errorf("%+v, %v", r, err)
				}
				e.CheckPlayed(t)
			})
		})
	}
}
