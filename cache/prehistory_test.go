package cache

import (
	"errors"
	"testing"
	"time"

	"sluice/cache/tree"
)

// A client that resumes from a version before the store began has missed nothing if nothing happened.
func TestWatchBeginsBeforeTheHistoryOnlyWhereNothingHappened(t *testing.T) {
	s := New(Options{}, nil, 20)
	s.AddPrehistory(10, 20, []Change{{12, tree.KeyOf("a", "x")}, {15, tree.KeyOf("b", "y")}})
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
	c, err := s.Watch(Scope{}, 15)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := s.Apply(Added, &tree.Object{Key: tree.KeyOf("a", "n"), RV: 21}, time.Now()); err != nil {
		t.Fatal(err)
	}
	var events [2]*Event
	if n, version, err := c.Next(events[:]); n != 1 || version != 21 || err != nil || events[0].RV != 21 {
		t.Errorf("%d events up to %d, %v", n, version, err)
	}
	late, err := s.Watch(Scope{}, 16) // although there are events by now
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if n, _, err := late.Next(events[:]); n != 1 || err != nil {
		t.Errorf("%d events, %v", n, err)
	}
}

func TestPrehistoryEndsWithTheBeginningOfTheHistory(t *testing.T) {
	s := New(Options{HistoryAge: time.Nanosecond}, nil, 20)
	s.AddPrehistory(10, 19, nil) // of another beginning
	if _, err := s.Watch(Scope{}, 15); !errors.Is(err, ErrGone) {
		t.Errorf("a prehistory of another store is used: %v", err)
	}
	s.AddPrehistory(10, 20, nil)
	for rv := uint64(21); rv < 30; rv++ {
		if err := s.Apply(Added, &tree.Object{Key: tree.KeyOf("a", string(rune('a'+rv))), RV: rv}, time.Now().Add(time.Duration(rv)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if s.OldestVersion() == 20 {
		t.Fatal("the history is not trimmed")
	}
	if _, err := s.Watch(Scope{}, 15); !errors.Is(err, ErrGone) {
		t.Errorf("a watch misses the events that were trimmed: %v", err)
	}
}
