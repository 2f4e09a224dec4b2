package fence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
)

// recoverAll has n readers wait at any price for what is current now, and returns how many succeed within
// a time.
func recoverAll(t *testing.T, f *Fence, n int, limit time.Duration) (succeed int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var mu sync.Mutex
	var readers sync.WaitGroup
	for range n {
		readers.Go(func() {
			if _, err := f.Prove(ctx, Need{AtAnyPrice: true}); err == nil {
				mu.Lock()
				defer mu.Unlock()
				succeed++
			}
		})
	}
	readers.Wait()
	return succeed
}

// The resource is so large that nobody takes an inventory of it otherwise.
func TestReadersWhoseProofDoesNotComeShareOneInventory(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, _ *cache.Writer, f *Fence) {
		a.noBookmarks, a.inventoryTime = true, time.Second
		f.inventory = inventoryRecord{perObject: 1 << 30, at: time.Now()}
		a.writeElsewhere()
		f.giveUp()
		if n := recoverAll(t, f, 100, 5*time.Second); n != 100 || a.inventories.Load() != 1 {
			t.Errorf("%d of 100 readers recover by %d inventories", n, a.inventories.Load())
		}
		if stalled(f) {
			t.Error("the next reader expects no proof")
		}
		time.Sleep(time.Minute)
		if a.inventories.Load() != 1 {
			t.Error("an inventory is taken while nobody waits")
		}
	})
}

func TestEventsThatAreHeldBackReplaceTheStoreWhileAReaderWaits(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, _ *cache.Writer, f *Fence) {
		a.noBookmarks, a.inventoryTime = true, time.Second
		a.write()
		ctx, cancel := context.WithTimeout(t.Context(), mendAfter+time.Second)
		_, _ = f.Prove(ctx, Need{AtAnyPrice: true}) // gives up during the inventory
		cancel()
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := a.reported(); err != nil {
			t.Fatalf("the store is replaced for nobody: %v", err)
		}
		start := time.Now()
		recoverAll(t, f, 10, 10*time.Second)
		if err := a.reported(); !errors.Is(err, cache.ErrHeldBack) {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// Otherwise a reader of a store that is always some seconds late would never be answered.
func TestAReaderThatWaitsNeedsNoNewerVersionThanWhenItBegan(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.noBookmarks = true
		first := a.write()
		go func() {
			for version := first; version < first+10; version++ {
				deliver(t, s, version, 100*time.Millisecond)
				a.write()
			}
		}()
		start := time.Now()
		if a, err := f.Prove(t.Context(), Need{AtAnyPrice: true}); err != nil || a.Version != first || time.Since(start) > 200*time.Millisecond {
			t.Errorf("version %d after %v, %v, want %d", a.Version, time.Since(start), err, first)
		}
		time.Sleep(time.Minute)
	})
}

func TestAnApiserverThatRefusesIsAskedAgainWhenItSays(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, _ *cache.Writer, f *Fence) {
		busy := &cache.RetryAfterError{After: 5 * time.Second, Err: errNoList}
		a.refuses = busy
		for range 100 {
			if _, err := f.currentVersion(t.Context()); !errors.Is(err, busy) {
				t.Fatal(err)
			}
		}
		recoverAll(t, f, 100, 4*time.Second)
		if n := a.probes.Load(); n != 1 {
			t.Errorf("%d probes before it may be asked again", n)
		}
		a.change(func() { a.refuses = nil })
		if n := recoverAll(t, f, 100, 2*time.Second); n != 100 {
			t.Errorf("%d of 100 readers recover", n)
		}
	})
}

func TestNoRequestFollowsAFailureTooSoonOrTooLate(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{0: failurePause, 5 * time.Second: 5 * time.Second, time.Hour: stallRetry} {
		if got := retryDelay(fmt.Errorf("list: %w", &cache.RetryAfterError{After: after, Err: errNoList})); got != want {
			t.Errorf("after %v the next comes after %v, want %v", after, got, want)
		}
	}
	if got := retryDelay(errNoList); got != failurePause {
		t.Error(got)
	}
}

// failing is an Apiserver whose inventories fail.
type failing struct {
	*fakeAPIServer
	err error
}

// Inventory implements Apiserver.
func (a failing) Inventory(context.Context, cache.Scope, uint64) (*cache.Inventory, error) {
	a.inventories.Add(1)
	return nil, a.err
}

func TestAnInventoryThatIsRefusedIsTakenAgainWhenTheApiserverSays(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, _ *cache.Writer, f *Fence) {
		a.noBookmarks, f.apiserver = true, failing{a, &cache.RetryAfterError{After: 5 * time.Second, Err: errNoList}}
		f.inventory = inventoryRecord{perObject: 1 << 30, at: time.Now()}
		a.writeElsewhere()
		recoverAll(t, f, 10, mendAfter+4*time.Second)
		if n := a.inventories.Load(); n != 1 {
			t.Errorf("%d inventories in four seconds", n)
		}
	})
}
