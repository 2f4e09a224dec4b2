package cache

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/cache/tree"
)

// expiring returns a store at version 10 in which all objects except a/z share one etcd lease.
func expiring() *Writer {
	return New(Options{}, []*tree.Object{testObject("a/x", 5), testObject("a/y", 6), testObject("a/z", 7)}, 10)
}

// readKeys returns the keys of the events that a cursor has left to read.
func readKeys(t *testing.T, c *Cursor) (keys []tree.Key, version uint64) {
	t.Helper()
	buf := make([]*Event, 10)
	n, version, err := c.Next(buf)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range buf[:n] {
		keys = append(keys, e.Object.Key)
	}
	return keys, version
}

// A client that lists between two deletions of one version and watches from this version receives
// the other deletion, whenever its watch begins.
func TestWatchFromTheVersionOfADeletionDeliversTheOthers(t *testing.T) {
	s := expiring()
	apply(t, s, Deleted, "a/x", 12)
	listed := s.Snapshot()
	if listed.Version != 12 || listed.Len() != 2 {
		t.Fatalf("%d objects at %d", listed.Len(), listed.Version)
	}
	watch := func(version uint64) *Cursor {
		t.Helper()
		return openWatch(t, s, Scope{Namespace: "a"}, version)
	}
	before := watch(12)
	_, streaming := listAndWatch(t, s, Scope{})
	if _, version := readKeys(t, streaming); version != 12 {
		t.Errorf("complete up to %d", version)
	}
	apply(t, s, Deleted, "a/y", 12)
	future := watch(15)
	apply(t, s, Added, "a/w", 16)
	for name, c := range map[string]*Cursor{"before": before, "after": watch(12), "streaming list": streaming} {
		if keys, version := readKeys(t, c); fmt.Sprint(keys) != "[a/y a/w]" || version != 16 {
			t.Errorf("%s: got %s up to %d", name, keys, version)
		}
	}
	for name, c := range map[string]*Cursor{"future": future, "complete": watch(15)} {
		if keys, _ := readKeys(t, c); fmt.Sprint(keys) != "[a/w]" {
			t.Errorf("%s: got %s", name, keys)
		}
	}
	if keys, _ := readKeys(t, watch(11)); fmt.Sprint(keys) != "[a/x a/y a/w]" {
		t.Errorf("from the version before: got %s", keys)
	}
}

func TestAVersionWhoseDeletionsHaveLeftTheHistoryIsGone(t *testing.T) {
	s := New(Options{HistoryAge: time.Minute}, []*tree.Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
	start := time.Now()
	at := func(typ Type, k tree.Key, rv uint64, after time.Duration) {
		t.Helper()
		if err := s.Apply(typ, testObject(k, rv), start.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	at(Deleted, "a/x", 12, 0)
	at(Deleted, "a/y", 12, 0)
	at(Added, "a/z", 14, time.Second)
	at(Added, "a/w", 15, time.Hour) // trims all before
	if got := s.OldestVersion(); got != 14 {
		t.Fatalf("oldest version %d", got)
	}
	s = New(Options{HistoryAge: time.Minute}, []*tree.Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
	at(Deleted, "a/x", 12, 0)
	at(Deleted, "a/y", 12, 0)
	at(Added, "a/z", 14, time.Hour) // trims both deletions
	if _, err := s.Watch(Scope{}, 12); !errors.Is(err, ErrGone) || s.OldestVersion() != 13 {
		t.Errorf("watch from the version of lost deletions: %v, oldest version %d", err, s.OldestVersion())
	}
	if state, err := s.At(12); err != nil || state.Len() != 0 {
		t.Error("the state is lost", err)
	}
}

// A store that is complete up to the version of an inventory and differs from it belongs to another
// history, as after a restore of etcd.
func TestStoreThatContradictsAnInventoryHasDiverged(t *testing.T) {
	listed := map[tree.Key]uint64{"a/x": 5, "a/y": 14}
	for name, diverge := range map[string]func(t *testing.T, s *Writer) error{
		"a version of the past": func(t *testing.T, s *Writer) error {
			apply(t, s, Modified, "a/x", 20)
			_, err := s.ConfirmState(inventoryOf(t, 15, listed))
			return err
		},
		"the present version": func(t *testing.T, s *Writer) error {
			if err := s.ApplyBookmark(15); err != nil {
				return err
			}
			_, err := s.ConfirmState(inventoryOf(t, 15, listed))
			return err
		},
		"a later event": func(t *testing.T, s *Writer) error {
			confirmState(t, s, inventoryOf(t, 15, listed))
			return s.Apply(Modified, testObject("a/x", 16), time.Now())
		},
		"a bookmark": func(t *testing.T, s *Writer) error {
			confirmState(t, s, inventoryOf(t, 15, listed))
			return s.ApplyBookmark(15)
		},
		"a second watch": func(t *testing.T, s *Writer) error {
			confirmState(t, s, inventoryOf(t, 15, listed))
			_, err := s.ConfirmComplete(Silence{Last: 10, Version: 15})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{}, []*tree.Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
			if err := diverge(t, s); !errors.Is(err, ErrDiverged) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestStoreThatGetsTheListedStateGoesOn(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	confirmState(t, s, inventoryOf(t, 15, map[tree.Key]uint64{"a/x": 5, "a/y": 14}))
	apply(t, s, Added, "a/y", 14)
	apply(t, s, Modified, "a/x", 20)
	for _, r := range []*Inventory{
		inventoryOf(t, 15, map[tree.Key]uint64{"a/x": 5, "a/y": 14}),
		inventoryOf(t, 5, map[tree.Key]uint64{"a/other": 5}), // before the history
	} {
		if !confirmState(t, s, r) {
			t.Error("not reached")
		}
	}
	if err := s.ApplyBookmark(30); err != nil {
		t.Error(err)
	}
}

// A proof may arrive while an event is being applied.
func TestVersionNeverFallsBelowAProof(t *testing.T) {
	for range 2000 {
		s := New(Options{}, nil, 10)
		var both sync.WaitGroup
		var confirmed bool
		both.Go(func() { confirmed, _ = s.ConfirmComplete(Silence{Last: 10, Version: 20}) })
		both.Go(func() { _ = s.Apply(Added, testObject("a/x", 15), time.Now()) })
		both.Wait()
		if confirmed && s.Streamed() < 20 {
			t.Fatalf("complete up to %d after a proof of 20", s.Streamed())
		}
	}
}
