package cache

import (
	"errors"
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

// Events that the resumed watch delivers explain how the store differs from the apiserver. A store of another history never equals it.
func TestDoubtEndsOnceTheStateEqualsAnInventoryOfTheResumedWatch(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5), testObject("a/y", 6)}, 10)
	s.Doubt()
	before := asked(t, 20, map[tree.Key]uint64{"a/x": 15, "a/y": 6})
	time.Sleep(time.Microsecond)
	s.Resumed()
	confirmState(t, s, before)
	apply(t, s, Modified, "a/x", 15)
	if !s.Doubtful() {
		t.Error("an inventory from before the watch ends the doubt")
	}
	confirmState(t, s, asked(t, 30, map[tree.Key]uint64{"a/x": 25, "a/y": 6}))
	apply(t, s, Modified, "a/x", 22)
	if !s.Doubtful() {
		t.Error("the doubt ends before the state equals the inventory")
	}
	apply(t, s, Modified, "a/x", 25)
	if s.Doubtful() || !s.Proves(30) {
		t.Error("the doubt does not end")
	}
	s.Doubt()
	s.Resumed()
	confirmState(t, s, asked(t, 40, map[tree.Key]uint64{"a/x": 25}))
	if err := s.ApplyBookmark(41); !errors.Is(err, ErrDiverged) || !s.Doubtful() {
		t.Errorf("a store of another history goes on: %v", err)
	}
}
