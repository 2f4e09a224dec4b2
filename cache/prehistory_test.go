package cache

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"sluice/cache/tree"
)

// A client that resumes from a version before the store began has missed nothing if nothing happened.
func TestWatchBeginsBeforeTheHistoryOnlyWhereNothingHappened(t *testing.T) {
	s := New(Options{}, nil, 20)
	s.Prehistory.Extend(10, 20, []Change{{12, tree.KeyOf("a", "x")}, {15, tree.KeyOf("b", "y")}})
	for _, row := range []struct {
		scope   Scope
		version uint64
		want    error
	}{
		{Scope{}, 20, nil},
		{Scope{}, 19, nil},
		{Scope{}, 15, nil},
		{Scope{}, 14, ErrGone},
		{Scope{Namespace: "a"}, 14, nil},
		{Scope{Namespace: "a"}, 12, nil},
		{Scope{Namespace: "a"}, 11, ErrGone},
		{Scope{Namespace: "b"}, 14, ErrGone},
		{Scope{Namespace: "c"}, 10, nil},
		{Scope{Namespace: "c"}, 9, ErrGone}, // it is not known
		{Scope{Key: tree.KeyOf("a", "x")}, 12, nil},
		{Scope{Key: tree.KeyOf("a", "x")}, 11, ErrGone},
		{Scope{Key: tree.KeyOf("a", "z")}, 10, nil},
		{Scope{Indexed: true, Value: "node"}, 15, nil},
		{Scope{Indexed: true, Value: "node"}, 14, ErrGone},
	} {
		c, err := s.Watch(row.scope, row.version)
		if !errors.Is(err, row.want) {
			t.Errorf("%+v from %d: %v, want %v", row.scope, row.version, err, row.want)
		}
		if err == nil {
			defer c.Close()
		}
	}
	c := openWatch(t, s, Scope{}, 15)
	if err := s.Apply(Added, &tree.Object{Key: tree.KeyOf("a", "n"), RV: 21}, time.Now()); err != nil {
		t.Fatal(err)
	}
	var events [2]*Event
	if n, version, err := c.Next(events[:]); n != 1 || version != 21 || err != nil || events[0].RV != 21 {
		t.Errorf("%d events up to %d, %v", n, version, err)
	}
	late := openWatch(t, s, Scope{}, 16) // although there are events by now
	if n, _, err := late.Next(events[:]); n != 1 || err != nil {
		t.Errorf("%d events, %v", n, err)
	}
}

// rewrite makes an object change until the history has lost all that was before.
func rewrite(t *testing.T, s *Writer, k tree.Key) {
	t.Helper()
	for before := s.Streamed(); s.OldestVersion() <= before; {
		typ := Modified
		if s.Snapshot().Get(k) == nil {
			typ = Added
		}
		o := &tree.Object{Key: k, RV: s.Streamed() + 1, Data: make([]byte, 1000), Fields: []string{"busy"}}
		if err := s.Apply(typ, o, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
}

// A client that updates large objects of one namespace shortens the history of the whole resource.
func TestOnlyReadersOfWhatChangedMissTheHistory(t *testing.T) {
	field := 0
	s := New(Options{HistoryBytes: 100_000, Index: &field}, []*tree.Object{{Key: tree.KeyOf("b", "x"), RV: 5, Fields: []string{"quiet"}}}, 20)
	if err := s.Apply(Modified, &tree.Object{Key: tree.KeyOf("b", "x"), RV: 21, Fields: []string{"left"}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	rewrite(t, s, tree.KeyOf("a", "x"))
	s.Prehistory.Extend(10, 19, nil) // of another beginning
	s.Prehistory.Extend(10, 20, []Change{{15, tree.KeyOf("c", "x")}})
	for _, row := range []struct {
		scope  Scope
		oldest uint64 // version from which a watch can begin
	}{
		{Scope{Namespace: "b"}, 21},
		{Scope{Namespace: "c"}, 15},
		{Scope{Namespace: "d"}, 10},
		{Scope{Key: tree.KeyOf("b", "x")}, 21},
		{Scope{Key: tree.KeyOf("b", "y")}, 10},
		{Scope{Indexed: true, Value: "quiet"}, 21},
		{Scope{Indexed: true, Value: "left"}, 21},
		{Scope{Indexed: true, Value: "other"}, 15}, // what the value of c/x was is not known
		{Scope{}, s.OldestVersion()},
		{Scope{Namespace: "a"}, s.OldestVersion()},
		{Scope{Key: tree.KeyOf("a", "x")}, s.OldestVersion()},
		{Scope{Indexed: true, Value: "busy"}, s.OldestVersion()},
	} {
		if _, err := s.Watch(row.scope, row.oldest-1); !errors.Is(err, ErrGone) {
			t.Errorf("%+v from %d: %v", row.scope, row.oldest-1, err)
		}
		c, err := s.Watch(row.scope, row.oldest)
		if err != nil {
			t.Errorf("%+v from %d: %v", row.scope, row.oldest, err)
			continue
		}
		defer c.Close()
		var events [200]*Event
		if n, _, err := c.Next(events[:]); err != nil || (n > 0) != (row.oldest == s.OldestVersion()) {
			t.Errorf("%+v from %d: %d events, %v", row.scope, row.oldest, n, err)
		}
	}
}

// Between the beginning of a watch and its first read, others' events leave the history.
func TestAWatchFromBeforeTheHistoryOutlivesWhatOthersChange(t *testing.T) {
	s := New(Options{HistoryBytes: 100_000}, nil, 20)
	rewrite(t, s, tree.KeyOf("a", "x"))
	var events [10]*Event
	open := func(namespace string) *Cursor {
		t.Helper()
		return openWatch(t, s, Scope{Namespace: namespace}, 20)
	}
	add := func(k tree.Key) {
		t.Helper()
		if err := s.Apply(Added, &tree.Object{Key: k, RV: s.Streamed() + 1}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	quiet, missed := open("b"), open("c")
	add(tree.KeyOf("c", "x"))
	rewrite(t, s, tree.KeyOf("a", "x"))
	if n, version, err := quiet.Next(events[:]); n != 0 || version != s.Streamed() || err != nil {
		t.Errorf("%d events up to %d, %v", n, version, err)
	}
	if _, _, err := missed.Next(events[:]); !errors.Is(err, ErrGone) {
		t.Errorf("a watch misses an event: %v", err)
	}
	first := open("b")
	rewrite(t, s, tree.KeyOf("a", "x"))
	add(tree.KeyOf("b", "x"))
	for _, c := range []*Cursor{quiet, first} {
		if n, version, err := c.Next(events[:]); n != 1 || version != s.Streamed() || err != nil {
			t.Errorf("%d events up to %d, %v", n, version, err)
		}
	}
}

func TestAPrehistoryIsBounded(t *testing.T) {
	s := New(Options{HistoryAge: 1}, nil, 20)
	rv := uint64(20)
	change := func(typ Type, k tree.Key) {
		t.Helper()
		rv++
		if err := s.Apply(typ, &tree.Object{Key: k, RV: rv}, time.Unix(int64(rv), 0)); err != nil {
			t.Fatal(err)
		}
	}
	var known []uint64 // versions that the store has known, one for each generation
	for i := 0; s.Prehistory.Knows(20) || s.Prehistory.Knows(known[1]); i++ {
		if len(known) == 0 || s.Prehistory.younger.from > known[len(known)-1] {
			known = append(known, s.Prehistory.younger.from)
		}
		if n := len(s.Prehistory.older.quiet) + len(s.Prehistory.younger.quiet); n > 2*(maxScopesKnown+maxScopes+1) {
			t.Fatalf("%d scopes", n)
		}
		change(Added, tree.KeyOf("", fmt.Sprint(i)))
		change(Deleted, tree.KeyOf("", fmt.Sprint(i)))
	}
	if len(known) != 3 {
		t.Errorf("generations begin at %v", known)
	}
	s.Prehistory.Extend(1, known[2], nil)
	if s.Prehistory.CanExtend(known[2]) || s.Prehistory.Knows(known[2]-1) {
		t.Error("it is extended although it has forgotten something")
	}
	for _, row := range []struct {
		version uint64
		want    error
	}{{known[2], nil}, {known[2] - 1, ErrGone}} {
		if _, err := s.Watch(Scope{Key: "quiet"}, row.version); !errors.Is(err, row.want) {
			t.Errorf("watch from %d of %v: %v", row.version, known, err)
		}
	}
}
