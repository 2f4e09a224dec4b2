package cache

import (
	"errors"
	"slices"
	"testing"
	"time"

	"sluice/cache/tree"
)

// While the watch of the store is away, etcd may be restored and pass the version of the store. An equal version, a
// bookmark and a silent second watch then prove nothing; an inventory does, up to its version.
func TestInDoubtOnlyAnInventoryProves(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	if !s.Proves(10) || !s.ProvesHistory(10) || s.Proves(11) {
		t.Fatal("the version of a store is not proven, or more is")
	}
	s.Doubt()
	if s.Proves(10) || s.ProvesHistory(10) {
		t.Error("proven by its version")
	}
	if ok, err := s.ConfirmComplete(Silence{Last: 10, Version: 15}); ok || err != nil || s.Streamed() != 10 {
		t.Errorf("proven by a second watch: complete up to %d, %v", s.Streamed(), err)
	}
	if confirmState(t, s, asked(t, 15, map[tree.Key]uint64{"a/x": 12})) || s.Proves(10) {
		t.Error("proven by the list of another state")
	}
	if !confirmState(t, s, asked(t, 20, map[tree.Key]uint64{"a/x": 5})) || !s.Proves(20) || s.Proves(21) || s.ProvesHistory(20) {
		t.Error("not proven by a list of the state, or more is")
	}
	s.Doubt()
	if s.Proves(20) {
		t.Error("a list from before the watch was lost again proves the state")
	}
	s.Trust()
	if !s.Proves(20) || s.Proves(21) {
		t.Error("not proven once the watch continues")
	}
}

func TestInDoubtAnInventoryOfThePresentVersionProvesIt(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	s.Doubt()
	if !confirmState(t, s, asked(t, 10, map[tree.Key]uint64{"a/x": 5})) || !s.Proves(10) {
		t.Error("not proven")
	}
}

// asked returns an inventory that is asked for now.
func asked(t *testing.T, version uint64, objects map[tree.Key]uint64) *Inventory {
	r := inventoryOf(t, version, objects)
	r.Asked = time.Now()
	return r
}

// etcd may have been restored since, and have passed the version of the list with other objects.
func TestInDoubtAnInventoryFromBeforeProvesNothing(t *testing.T) {
	for _, version := range []uint64{10, 20} {
		s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
		before := asked(t, version, map[tree.Key]uint64{"a/x": 5})
		s.Doubt()
		if _, err := s.ConfirmState(before); err != nil || s.Proves(version) {
			t.Errorf("version %d: %v, it is proven: %v", version, err, s.Proves(version))
		}
		s.Trust()
		if !s.Proves(version) {
			t.Errorf("version %d is not proven once the watch continues", version)
		}
	}
}

// The list may be of the time before the event.
func TestInDoubtAnInventoryProvesNoStateThatHasChangedMeanwhile(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	s.Doubt()
	c := &comparison{inventory: asked(t, 10, map[tree.Key]uint64{"a/x": 5}), past: true, position: s.position}
	apply(t, s, Modified, "a/x", 11)
	s.mu.Lock()
	_, err := s.conclude(c)
	s.mu.Unlock()
	if err != nil || s.Proves(10) {
		t.Errorf("version 10 is proven: %v, %v", s.Proves(10), err)
	}
}

func TestDifferingKeysAreThoseOfTheStateAndOfTheList(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/b", 1), testObject("a/d", 2), testObject("a/f", 3), testObject("a/h", 4)}, 10)
	for _, row := range []struct {
		listed map[tree.Key]uint64
		want   []tree.Key
	}{
		{map[tree.Key]uint64{"a/b": 1, "a/d": 2, "a/f": 3, "a/h": 4}, nil},
		{map[tree.Key]uint64{"a/a": 12, "a/b": 1, "a/c": 12, "a/d": 12, "a/h": 4, "a/i": 12}, []tree.Key{"a/a", "a/c", "a/d", "a/f", "a/i"}},
		{nil, []tree.Key{"a/b", "a/d", "a/f", "a/h"}},
	} {
		got, err := s.Differing(inventoryOf(t, 15, row.listed))
		if err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%v: got %v, %v", row.listed, got, err)
		}
	}
	if _, err := s.Differing(inventoryOf(t, 9, nil)); !errors.Is(err, ErrDiverged) {
		t.Errorf("the list of an apiserver that is behind the store: %v", err)
	}
	if !confirmState(t, s, inventoryOf(t, 20, map[tree.Key]uint64{"a/b": 1, "a/d": 2, "a/f": 3, "a/h": 4})) {
		t.Fatal("the state is not confirmed at version 20")
	}
	if _, err := s.Differing(inventoryOf(t, 15, nil)); !errors.Is(err, ErrDiverged) {
		t.Errorf("the list of an apiserver that is behind what readers have seen: %v", err)
	}
}
