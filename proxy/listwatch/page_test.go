package listwatch

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"sluice/cache/reflector"
	"sluice/codec"
	"sluice/test/support/fake"
)

// limits records the limits of requests.
type limits struct {
	mu  sync.Mutex
	all []string
}

// of returns a response that records the limit of its request.
func (l *limits) of(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.all = append(l.all, r.URL.Query().Get("limit"))
		l.mu.Unlock()
		serve(w, r)
	}
}

// check compares what has been recorded, and begins anew.
func (l *limits) check(t *testing.T, want ...int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := strings.Join(l.all, " "); got != strings.Trim(fmt.Sprint(want), "[]") {
		t.Errorf("pages are requested with limits %s, want %v", got, want)
	}
	l.all = nil
}

// long returns a page that is longer by some white space, which is part of a page too.
func long(d fake.Resource, by int, next string, objects ...string) http.HandlerFunc {
	return fake.Body(codec.MediaJSON, append(d.InJSON().Page("10", next, objects...), bytes.Repeat([]byte(" "), by)...))
}

// A page is in memory besides the objects that are made of it, so large objects come in small pages. Who writes objects may put
// long ones behind any number of short ones, so a page that is too long is requested again with fewer objects.
func TestPagesOfLargeObjectsAreSmall(t *testing.T) {
	d := fake.Widgets
	var l limits
	for _, row := range []struct {
		pages  []step
		limits []int
	}{
		{[]step{
			{"page", l.of(long(d, pageBytes, "two", "a/x@3"))},
			{"page two", l.of(d.PageBody("10", "three", "b/x@4"))},
			{"page three", l.of(d.PageBody("10", "", "c/x@5"))},
		}, []int{firstPage, firstPage - 1, 2*firstPage - 2}},
		{[]step{
			{"page", l.of(d.PageBody("10", "two", "a/x@3"))},
			{"page two", l.of(long(d, maxPageBytes, "three", "b/x@4", "c/x@5"))},
			{"page two", l.of(long(d, maxPageBytes/2, "three", "b/x@4"))},
			{"page three", l.of(d.PageBody("10", "", "c/x@5"))},
		}, []int{firstPage, 2 * firstPage, 2 * firstPage / shrink, 2*firstPage/shrink - 1}},
	} {
		steps := slices.Concat([]step{{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)}}, row.pages, []step{{"watch 10", d.Stream()}})
		run(t, d, steps, func(t *testing.T, e *env) {
			e.checkAfter(t, time.Minute, 10, "a/x", "b/x", "c/x")
			l.check(t, row.limits...)
		})
	}
}

// Nothing is asked for again without end: a single object has no limit but that of all responses.
func TestPageOfOneObjectMayBeLong(t *testing.T) {
	d := fake.Widgets
	u, end := fake.New(t, d, []fake.Step{{Call: "page", Respond: long(d, maxPageBytes, "", "a/x@3")}}).Upstream()
	defer end()
	pages := &pager{client: New(u, d.GVR, Options{}), accept: codec.MediaJSON, size: 1, most: pageSize}
	read := 0
	_, err := pages.read(t.Context(), url.Values{"continue": {""}}, func(http.Header, []byte) (list, error) {
		read++
		return list{version: 10}, nil
	})
	if err != nil || read != 1 {
		t.Errorf("%d pages, %v", read, err)
	}
}

// The cells of a Table can be much longer than its objects.
func TestStoreIsFilledWithoutATableThatIsTooLong(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"table", long(d, 33<<20, "")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
	}
	run(t, d, steps, func(t *testing.T, e *env) {
		e.checkAfter(t, time.Millisecond, 10, "a/x")
	})
}

func TestFollowerReadsLongMetadata(t *testing.T) {
	d := fake.ConfigMaps
	var l limits
	name := "b/" + strings.Repeat("x", 1000) // of which only a hash is kept
	steps := []fake.Step{
		{Call: "metadata", Respond: l.of(long(d, maxPageBytes, "", "a/x@3", name+"@4"))},
		{Call: "metadata", Respond: l.of(d.PageBody("10", "two", "a/x@3"))},
		{Call: "metadata", Respond: l.of(d.PageBody("10", "", name+"@4"))},
	}
	synctest.Test(t, func(t *testing.T) {
		u, end := fake.New(t, d, steps).Upstream()
		defer end()
		var changed []string
		err := NewFollower(u, d.GVR, zap.NewNop(), Options{}).follow(t.Context(), func(c Change) { changed = append(changed, string(c.Key)) })
		slices.Sort(changed)
		if !errors.Is(err, reflector.ErrExpired) || len(changed) != 2 || len(changed[0]) != 64 || changed[1] != "a/x" {
			t.Errorf("%v have changed, %v", changed, err)
		}
		l.check(t, firstPage, firstPage/shrink, 2*(firstPage/shrink))
	})
}
