package fence

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
)

// long is the length of a list that costs the apiserver more than any inventory of a test.
const long = 1 << 24

// confirmsAt checks whether a read of a version is answered, and how many inventories have been taken by then.
func confirmsAt(t *testing.T, a *fakeAPIServer, f *Fence, version uint64, rest int64, confirmed bool, inventories int32) {
	t.Helper()
	state, err := f.confirmAt(t.Context(), version, rest)
	if confirmed && (err != nil || state.Version != version) || !confirmed && !errors.Is(err, cache.ErrAhead) || a.inventories.Load() != inventories {
		t.Errorf("version %d: %+v, %v after %d inventories, want %d", version, state, err, a.inventories.Load(), inventories)
	}
}

// A client may ask for pages that it does not go on from.
func TestBeyondTheAllowanceNoInventoryAtAVersionIsTaken(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		fill(t, a, s)
		version := a.writeElsewhere()
		f.allowance.charge(time.Minute, 0)
		for range 3 {
			confirmsAt(t, a, f, version, long, false, 0)
		}
		time.Sleep(time.Hour)
		confirmsAt(t, a, f, version, long, true, 1)
	})
}

func TestReadersOfAVersionShareItsInventory(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		version := a.writeElsewhere()
		a.writeElsewhere()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { confirmsAt(t, a, f, version, long, true, 1) })
		}
		synctest.Wait()
		confirmsAt(t, a, f, version+1, long, false, 1) // one at a time
		all.Wait()
		confirmsAt(t, a, f, version+1, long, true, 2)
	})
}

// A version of the future, which the apiserver refuses after three seconds, keeps its reader waiting for a
// moment, and others not at all.
func TestFailedInventoryAtAVersionIsNotRepeatedForAWhile(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		version := a.writeElsewhere()
		start := time.Now()
		confirmsAt(t, a, f, version+100, long, false, 0)
		if took := time.Since(start); took != quickInventory {
			t.Error("took", took)
		}
		confirmsAt(t, a, f, version, long, false, 0)
		if took := time.Since(start); took != quickInventory {
			t.Error("took", took)
		}
		if got, err := f.currentVersion(t.Context()); got != version || err != nil || a.inventories.Load() != 1 {
			t.Error("no other inventory is taken", got, err)
		}
		version = a.writeElsewhere()
		time.Sleep(3 * time.Second)
		confirmsAt(t, a, f, version, long, false, 1) // it has failed a moment ago
		time.Sleep(inventoryRetry)
		confirmsAt(t, a, f, version, long, true, 2)
	})
}

// The inventory goes on for the readers of the next pages.
func TestReaderOfAVersionDoesNotWaitLongForItsInventory(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.inventoryTime = quickInventory * 3 / 2
		version := a.writeElsewhere()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		if _, err := f.confirmAt(ctx, version, long); !errors.Is(err, cache.ErrAhead) || time.Since(start) != 0 {
			t.Error(err, time.Since(start))
		}
		synctest.Wait()
		for range 3 {
			confirmsAt(t, a, f, version, long, false, 1)
			if took := time.Since(start); took != quickInventory {
				t.Error("waited", took)
			}
		}
		time.Sleep(quickInventory)
		confirmsAt(t, a, f, version, long, true, 1)
	})
}

func TestCloseOfTheStoreEndsTheWaitForAnInventoryAtAVersion(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.inventoryTime = time.Hour
		version := a.writeElsewhere()
		time.AfterFunc(time.Millisecond, s.Close)
		start := time.Now()
		confirmsAt(t, a, f, version, long, false, 1)
		if took := time.Since(start); took != time.Millisecond {
			t.Error("waited", took)
		}
	})
}
