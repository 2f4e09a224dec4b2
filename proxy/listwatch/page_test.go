package listwatch

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"sluice/codec"
	"sluice/test/support/fake"
)

// A page is in memory besides the objects that are made of it, so large objects come in small pages.
func TestPagesOfLargeObjectsAreSmall(t *testing.T) {
	d := fake.Widgets
	var mu sync.Mutex
	var limits []string
	counted := func(serve http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			limits = append(limits, r.URL.Query().Get("limit"))
			mu.Unlock()
			serve(w, r)
		}
	}
	// White space is part of a page, too.
	long := fake.Body(codec.MediaJSON, append(d.Page("10", "two", "a/x@3"), bytes.Repeat([]byte(" "), 2*pageBytes)...))
	steps := []step{
		{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)},
		{"page", counted(long)},
		{"page two", counted(d.PageBody("10", "three", "b/x@4"))},
		{"page three", counted(d.PageBody("10", "", "c/x@5"))},
		{"watch 10", d.Stream()},
	}
	run(t, fake.Widgets, steps, func(t *testing.T, e *env) {
		pass(time.Minute)
		e.CheckPlayed(t)
		e.check(t, 10, "a/x", "b/x", "c/x")
		want := []string{strconv.Itoa(firstPage), strconv.Itoa(firstPage/2 - 1), strconv.Itoa(pageSize)}
		for i, limit := range limits {
			if limit != want[i] {
				t.Errorf("page %d is requested with limit %s, want %s", i, limit, want[i])
			}
		}
	})
}
