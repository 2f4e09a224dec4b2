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
