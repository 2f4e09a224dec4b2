package listwatch

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache/tree"
	"sluice/test/support/fake"
)

// timedOut sends events and ends a watch when its own timeout is due, or a while after that.
func timedOut(d fake.Resource, late time.Duration, events ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		life, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
		d.EndedAfter(time.Duration(life)*time.Second+late, events...)(w, r)
	}
}

// Only a watch that its apiserver has ended in order, by its own timeout, is continued for certain, and only at once.
func TestOnlyAWatchThatFollowsAtOnceIsCertainlyOfTheSameHistory(t *testing.T) {
	d := fake.ConfigMaps
	for _, row := range []struct {
		name    string
		first   http.HandlerFunc
		pause   time.Duration // before the next watch
		certain bool
	}{
		{"by its timeout", timedOut(d, 0, d.Bookmark("11")), 0, true},
		{"by its timeout, almost late", timedOut(d, atOnce, d.Bookmark("11")), 0, true},
		{"later", timedOut(d, atOnce+time.Millisecond, d.Bookmark("11")), 0, false},
		{"before its timeout", d.EndedAfter(watchLife-time.Second, d.Bookmark("11")), 0, false},
		{"cut", d.Cut(d.Bookmark("11")), 0, false},
		{"soon after", timedOut(d, 0, d.Bookmark("11")), atOnce, true},
		{"long after", timedOut(d, 0, d.Bookmark("11")), atOnce + time.Millisecond, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps := []fake.Step{
					{Call: "page", Respond: d.PageBody("10", "")},
					{Call: "watch 10", Respond: row.first},
					{Call: "watch 11", Respond: d.Stream()},
				}
				u, end := fake.New(t, d, steps).Upstream()
				defer end()
				c := New(u, d.GVR, Options{Opened: func() func() { return func() {} }})
				if _, err := c.List(t.Context(), func(*tree.Object) {}); err != nil {
					t.Fatal(err)
				}
				first, err := c.Watch(t.Context(), 10)
				if err != nil || !first.Continues() {
					t.Fatal("the watch of a list is not certain:", err)
				}
				for err == nil {
					_, err = first.Next()
				}
				if err := first.Close(); err != nil {
					t.Log(err)
				}
				time.Sleep(row.pause)
				second, err := c.Watch(t.Context(), 11)
				if err != nil {
					t.Fatal(err)
				}
				defer second.Close()
				if got := second.Continues(); got != row.certain {
					t.Errorf("certain: %v", got)
				}
			})
		})
	}
}
