package cache

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/cache/tree"
)

// versioned is an object of a few KB. At every third version it has the label "odd", at others not.
func versioned(key tree.Key, version uint64) *tree.Object {
	o := &tree.Object{Key: key, RV: version, Data: fmt.Appendf(nil, "%s at %d: %s", key, version, strings.Repeat("much that stays. ", 300))}
	if o.Fields = []string{string(key)}; version%3 == 0 {
		o.Labels = []tree.Label{{Key: "odd", Value: fmt.Sprint(version)}}
	}
	return o
}

// updated returns a store of so much history of two objects with n updates, a second apart, at the versions from 3 on.
func updated(t testing.TB, historyBytes int64, n int) *Writer {
	t.Helper()
	keys := []tree.Key{"a/x", "b/y"}
	field := 0
	s := New(Options{HistoryBytes: historyBytes, Index: &field}, []*tree.Object{versioned(keys[0], 1), versioned(keys[1], 2)}, 2)
	for i := range n {
		version := uint64(i + 3)
		if err := s.Apply(Modified, versioned(keys[i%2], version), time.Unix(int64(version), 0)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestAHistoryThatExceedsItsMemoryKeepsEventsWithoutStates(t *testing.T) {
	const limit, n = 1 << 20, 2000
	s := updated(t, limit, n)
	stats := s.Stats()
	if stats.HistoryBytes > limit || stats.Events != n {
		t.Errorf("%d bytes with %d of %d events", stats.HistoryBytes, stats.Events, n)
	}
	if _, err := s.At(s.Streamed() - 5); err != nil {
		t.Errorf("a state from just before: %v", err)
	}
	if _, err := s.At(10); err != ErrGone {
		t.Errorf("an old state: %v", err)
	}
	if more := updated(t, limit, 5*n).Stats(); more.HistoryBytes > limit || more.Events < n || more.Events == 5*n {
		t.Errorf("%d bytes with %d of %d events", more.HistoryBytes, more.Events, 5*n)
	}
}

func TestArchivedEventsShowWhatTheyShowedBefore(t *testing.T) {
	s := updated(t, 1<<20, 2000)
	isOdd := filterFunc(func(o *tree.Object) bool { _, ok := o.Label("odd"); return ok })
	for _, scope := range []Scope{{}, {Namespace: "b"}, {Key: "b/y"}, {Indexed: true, Value: "b/y"}} {
		c := openWatch(t, s, scope, 2)
		if behind, since := c.Behind(2); behind < 100 || since.Unix() > 4 {
			t.Errorf("%v: behind by %d events since %v", scope, behind, since)
		}
		next, step := uint64(3), uint64(1)
		if scope != (Scope{}) {
			next, step = 4, 2
		}
		events := make([]*Event, 50)
		for n := 1; n > 0; {
			if _, err := c.CaughtUpVersion(); err != nil && err != ErrPending {
				t.Fatal(err)
			}
			var version uint64
			var err error
			n, version, err = c.Next(events)
			if err != nil || n > 0 && version < events[n-1].RV || version > s.Streamed() {
				t.Fatalf("%v: %d events up to %d of %d, %v", scope, n, version, s.Streamed(), err)
			}
			for i, e := range events[:n] {
				want := versioned(e.Object.Key, next)
				if e.RV != next || e.Type != Modified || string(e.Object.Data) != string(want.Data) || !e.At.Equal(time.Unix(int64(next), 0)) {
					t.Fatalf("%v: event at %d instead of %d: %s %.30s", scope, e.RV, next, e.Type, e.Object.Data)
				}
				typ, ok := e.TypeFor(isOdd)
				var wantType Type
				switch {
				case next%3 == 0: // the objects take turns, so an odd version follows one that is not
					wantType = Added
				case (next-2)%3 == 0:
					wantType = Deleted
					if string(e.Previous.Data) != string(versioned(e.Object.Key, next-2).Data) {
						t.Fatalf("%v: before %d: %.30s", scope, next, e.Previous.Data)
					}
				}
				if typ != wantType || ok != (wantType != 0) {
					t.Fatalf("%v: %s at %d instead of %s", scope, typ, next, wantType)
				}
				if next += step; i == 7 { // the reader takes some of them
					c.Rewind(e)
					break
				}
			}
		}
		if next <= s.Streamed() {
			t.Errorf("%v: the watch ends at %d of %d", scope, next, s.Streamed())
		}
	}
}
