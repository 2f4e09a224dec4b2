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
	"sluice/cache/tree"
)

// withInventories is withFence with an apiserver that answers inventories.
func withInventories(t *testing.T, test func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence)) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.inventoryTime = 5 * time.Millisecond
		test(t, a, s, f)
	})
}

// fill makes the resource too large for an inventory instead of a probe.
func fill(t *testing.T, a *fakeAPIServer, s *cache.Writer) {
	t.Helper()
	for range smallResource + 1 {
		deliver(t, s, a.write(), 0)
	}
}

func TestInventoryOfALargerResourceFollowsTheProbe(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		fill(t, a, s)
		want := a.writeElsewhere()
		version, err := f.currentVersion(t.Context())
		if err != nil || version != want || a.probes.Load() != 1 || a.inventories.Load() != 0 {
			t.Fatal(version, err, a.probes.Load(), a.inventories.Load())
		}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if proof, err := f.confirm(t.Context(), version); err != nil || proof != ByInventory {
					t.Error(proof, err)
				}
			})
		}
		wg.Wait()
		if a.inventories.Load() != 1 || a.secondWatches.Load() != 0 {
			t.Fatalf("%d inventories, %d second watches", a.inventories.Load(), a.secondWatches.Load())
		}
	})
}

func TestInventoriesStayWithinTheAllowance(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.inventoryTime, a.inventoryBytes = 100*time.Millisecond, 2<<20
		start := time.Now()
		for time.Since(start) < 2*time.Minute {
			version := a.writeElsewhere()
			if _, _, err := waitUntilCurrent(f, t.Context()); err != nil {
				t.Fatal(err)
			}
			if s.Snapshot().Version < version {
				t.Fatal("not current")
			}
		}
		most := 0.05*(time.Since(start)+allowanceSaved).Seconds() + a.inventoryTime.Seconds()
		if got := f.Stats(); got.Seconds > most || a.inventories.Load() == 0 {
			t.Fatalf("%+v, want at most %v s", got, most)
		}
	})
}

func TestInventoryThatTheAllowanceNeverCoversIsRarelyRepeated(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.inventoryBytes = 1 << 30
		for range 20 {
			if _, _, err := waitUntilCurrent(f, t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Minute)
			a.writeElsewhere()
		}
		if n := a.inventories.Load(); n != 2 {
			t.Fatalf("%d inventories", n)
		}
	})
}

// The metadata of objects may be so long that no inventory ends in time.
func TestInventoryThatTakesTooLongIsChargedAndRare(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		deliver(t, s, a.write(), 0)
		a.inventoryTime, a.inventoryBytes = time.Hour, 100<<20
		a.writeElsewhere()
		f.worker.claim(listing)
		if _, err := f.takeInventory(t.Context(), inventoryTimeout); err == nil {
			t.Fatal("an inventory ends after its time")
		}
		if got, want := f.Stats().Seconds, inventoryWork(100<<20).Seconds(); got != want {
			t.Errorf("%v s are charged, want %v", got, want)
		}
		if time.Sleep(2 * inventoryRetry); f.Facts().canTakeInventory() {
			t.Error("another one is taken")
		}
	})
}

// A large inventory must not bar those of the same resource once it has become small.
func TestInventoriesReturnOnceTheResourceIsSmall(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		var versions []uint64
		for range 100 {
			versions = append(versions, a.write())
			deliver(t, s, versions[len(versions)-1], 0)
		}
		a.inventoryBytes = 100 << 20
		a.writeElsewhere()
		if _, proof, err := waitUntilCurrent(f, t.Context()); err != nil || proof != ByInventory {
			t.Fatal(proof, err)
		}
		if f.Facts().canTakeInventory() {
			t.Fatal("affords an inventory of 100 MiB")
		}
		a.mu.Lock()
		a.events, a.inventoryBytes = versions[:2], 2<<20
		for _, v := range versions[2:] {
			a.version++
			o := object(tree.KeyOf("a", fmt.Sprint(v)), a.version)
			if err := s.Apply(cache.Deleted, o, time.Now()); err != nil {
				t.Error(err)
			}
		}
		a.mu.Unlock()
		time.Sleep(10 * time.Minute) // the allowance recovers
		a.writeElsewhere()
		if _, proof, err := waitUntilCurrent(f, t.Context()); err != nil || proof != ByInventory {
			t.Fatal(proof, err)
		}
	})
}

// An inventory that hangs delays neither probes nor second watches.
func TestProbesDoNotWaitForAnInventoryThatHangs(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		fill(t, a, s)
		a.inventoryTime = time.Hour
		a.writeElsewhere()
		done := make(chan struct{})
		start := time.Now()
		go func() {
			defer close(done)
			if _, proof, err := waitUntilCurrent(f, t.Context()); err != nil || proof != BySecondWatch || time.Since(start) > 3*time.Second {
				t.Error(proof, err, time.Since(start))
			}
		}()
		synctest.Wait()
		time.Sleep(500 * time.Millisecond) // the inventory has begun
		if _, err := f.currentVersion(t.Context()); err != nil || time.Since(start) > 600*time.Millisecond {
			t.Error(err, time.Since(start))
		}
		<-done
	})
}

func TestAHangingInventoryInsteadOfAProbeGivesWayToAProbe(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.inventoryTime = time.Hour
		start := time.Now()
		for range 3 {
			if _, err := f.currentVersion(t.Context()); err != nil || time.Since(start) > 2*quickInventory {
				t.Error(err, time.Since(start))
			}
		}
	})
}

// The allowance holds on average whatever the readers do, for probes as well.
func TestProbesPauseWhileTheAllowanceIsOverdrawn(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.probeTime = time.Millisecond
		f.allowance.charge(time.Hour, 0)
		start := time.Now()
		for time.Since(start) < time.Minute {
			if _, err := f.currentVersion(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n, most := int(a.probes.Load()), int(time.Minute/probePause)+1; n > most || n < most/2 {
			t.Errorf("%d probes in a minute, want at most %d", n, most)
		}
	})
}

// A rate that changes holds for stores that exist.
func TestAllowanceFollowsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := Cost{Share: 0.1, BytesPerSecond: 4 << 20}
		a := newAllowance(func() Cost { return rate })
		a.charge(2*time.Second, 0) // all that it had saved
		a.charge(time.Second, 0)
		if got := a.wait(); got != 10*time.Second {
			t.Errorf("with a tenth of a core: %v", got)
		}
		rate.Share = 0.5
		if got := a.wait(); got != 2*time.Second {
			t.Errorf("with half a core: %v", got)
		}
		time.Sleep(time.Hour)
		rate.Share = 0.1
		a.charge(2*time.Second, 0)
		if got := a.wait(); got != 0 {
			t.Errorf("what was saved is taken: %v", got)
		}
		a.charge(time.Second, 0)
		if got := a.wait(); got != 10*time.Second {
			t.Errorf("more is saved than the new rate allows: %v", got)
		}
	})
}

// The time in which the apiserver waits for its own watch cache is no work.
func TestInventoryCountsNoMoreTimeThanItsBytesExplain(t *testing.T) {
	for _, tt := range []struct {
		took  time.Duration
		bytes int
		want  time.Duration
	}{
		{time.Millisecond, 1 << 20, time.Millisecond},
		{100 * time.Millisecond, 0, requestWork},
		{time.Second / 2, 1e6, requestWork + 7*time.Millisecond},
	} {
		withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
			a.inventoryTime, a.inventoryBytes = tt.took, tt.bytes
			if _, err := f.currentVersion(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := f.Stats(); got.Seconds != tt.want.Seconds() || got.Uncharged != 0 {
				t.Errorf("%v and %d bytes: %+v, want %v", tt.took, tt.bytes, got, tt.want)
			}
		})
	}
}

// An apiserver without watch cache of the resource sends no bookmarks.
func TestSecondWatchesBecomeRareWithoutBookmarks(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.noBookmarks = true
		version := a.writeElsewhere()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := f.confirm(ctx, version); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if n := a.secondWatches.Load(); n > 120 {
			t.Fatalf("%d second watches in an hour", n)
		}
		a.change(func() { a.noBookmarks = false })
		if _, err := f.confirm(t.Context(), version); err != nil {
			t.Fatal(err)
		}
	})
}
