package cache

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache/tree"
)

// While the watch of the store is away, etcd may be restored and pass the version of the store. An equal version, a
// bookmark and a silent second watch then prove nothing; a roll call does, up to its version.
func TestInDoubtOnlyARollCallProves(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	if !s.Proves(10) || !s.ProvesHistory(10) || s.Proves(11) {
		t.Fatal("the version of a store is not proven, or more is")
	}
	s.Doubt()
	if s.Proves(10) || s.ProvesHistory(10) {
		t.Error("proven by its version")
	}
	if ok, err := s.ConfirmComplete(Silence{Last: 10, Version: 15}); ok || err != nil || s.CompleteVersion() != 10 {
		t.Errorf("proven by a second watch: complete up to %d, %v", s.CompleteVersion(), err)
	}
	if confirmState(t, s, rollCallOf(t, 15, map[tree.Key]uint64{"a/x": 12})) || s.Proves(10) {
		t.Error("proven by the list of another state")
	}
	if !confirmState(t, s, rollCallOf(t, 20, map[tree.Key]uint64{"a/x": 5})) || !s.Proves(20) || s.Proves(21) || s.ProvesHistory(20) {
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

func TestInDoubtARollCallOfThePresentVersionProvesIt(t *testing.T) {
	s := New(Options{}, []*tree.Object{testObject("a/x", 5)}, 10)
	s.Doubt()
	if !confirmState(t, s, rollCallOf(t, 10, map[tree.Key]uint64{"a/x": 5})) || !s.Proves(10) {
		t.Error("not proven")
	}
}

func TestReadersWaitForTheEndOfTheDoubt(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		s.Doubt()
		brief, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for name, wait := range map[string]func(context.Context, uint64) error{
			"history": f.ConfirmHistory,
			"state":   func(ctx context.Context, version uint64) error { _, err := f.Confirm(ctx, version); return err },
		} {
			if err := wait(brief, 10); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := a.probeWatches.Load() + a.rollCalls.Load(); n != 0 {
			t.Errorf("%d second watches and roll calls", n)
		}
		proven := make(chan error, 1)
		go func() { _, err := f.Confirm(t.Context(), 10); proven <- err }()
		synctest.Wait()
		s.Trust()
		if err := <-proven; err != nil {
			t.Error(err)
		}
	})
}

// The bookmark of a second watch may be of the history before a restore.
func TestASecondWatchFromBeforeTheDoubtProvesNothingAfterIt(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		version := a.write() // the store lacks the event, so that the proof waits for it
		proven := make(chan error, 1)
		go func() { _, err := f.Confirm(t.Context(), version); proven <- err }()
		time.Sleep(1100 * time.Millisecond) // until a second watch has its bookmark
		synctest.Wait()
		a.mu.Lock()
		a.noBookmarks = true
		a.mu.Unlock()
		s.Doubt()
		synctest.Wait()
		s.Trust()
		deliver(t, s, version, 0)
		if err := <-proven; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if proof := f.ProofOf(version); proof != ByStream {
			t.Errorf("proven by %s", proof)
		}
	})
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
		got, err := s.Differing(rollCallOf(t, 15, row.listed))
		if err != nil || !slices.Equal(got, row.want) {
			t.Errorf("%v: got %v, %v", row.listed, got, err)
		}
	}
	if _, err := s.Differing(rollCallOf(t, 9, nil)); !errors.Is(err, ErrDiverged) {
		t.Errorf("the list of an apiserver that is behind the store: %v", err)
	}
}
