package fence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sluice/cache"
	"sluice/cache/tree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// usual is the cost by default.
var usual = Cost{Share: 0.05, BytesPerSecond: 4 << 20}

// fakeAPIServer is an Apiserver. Its writes happen at once, the store's stream lags behind them, and a
// second watch gets a bookmark one second after it was opened.
type fakeAPIServer struct {
	mu      sync.Mutex
	version uint64
	events  []uint64 // resource versions of the events of this resource

	probes, secondWatches, inventories atomic.Int32
	probeTime                          time.Duration
	inventoryTime                      time.Duration // 0 if inventories fail
	inventoryBytes                     int
	noBookmarks                        bool
	refuses                            error // what probes fail with
	diverged                           error // what the fence reported
}

// change changes the apiserver while the fence asks it.
func (a *fakeAPIServer) change(what func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	what()
}

// write commits an event of the resource.
func (a *fakeAPIServer) write() (version uint64) {
	a.change(func() {
		a.version++
		a.events = append(a.events, a.version)
		version = a.version
	})
	return version
}

// writeElsewhere commits an event of another resource.
func (a *fakeAPIServer) writeElsewhere() (version uint64) {
	a.change(func() { a.version++; version = a.version })
	return version
}

// report records what the fence reports.
func (a *fakeAPIServer) report(err error) { a.change(func() { a.diverged = err }) }

// reported returns what the fence has reported last.
func (a *fakeAPIServer) reported() (err error) {
	a.change(func() { err = a.diverged })
	return err
}

func (a *fakeAPIServer) current() (uint64, []uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.version, a.events
}

func (a *fakeAPIServer) Probe(ctx context.Context) (uint64, error) {
	a.probes.Add(1)
	a.mu.Lock()
	version, took, err := a.version, a.probeTime, a.refuses
	a.mu.Unlock()
	pause(ctx, took)
	return version, cmp.Or(err, ctx.Err())
}

func (a *fakeAPIServer) SecondWatch(ctx context.Context, version uint64, event, bookmark func(uint64)) error {
	a.secondWatches.Add(1)
	pause(ctx, time.Second)
	current, events := a.current()
	for _, e := range events {
		if e > version {
			event(e)
		}
	}
	a.mu.Lock()
	silent := a.noBookmarks
	a.mu.Unlock()
	if silent {
		pause(ctx, 2*time.Second)
		return ctx.Err()
	}
	if ctx.Err() == nil {
		bookmark(current)
	}
	return ctx.Err()
}

var errNoList = errors.New("list failed")

// Inventory lists the state at the moment of the call, or at a version: an object for each event.
func (a *fakeAPIServer) Inventory(ctx context.Context, _ cache.Scope, at uint64) (*cache.Inventory, error) {
	a.mu.Lock()
	took, r := a.inventoryTime, &cache.Inventory{Version: cmp.Or(at, a.version), Bytes: a.inventoryBytes}
	future := r.Version > a.version
	var keys []tree.Key
	for _, e := range a.events {
		if e <= r.Version {
			keys = append(keys, tree.KeyOf("a", fmt.Sprint(e)))
		}
	}
	a.mu.Unlock()
	if future {
		pause(ctx, 3*time.Second)
		return nil, errNoList
	}
	if took == 0 {
		return nil, errNoList
	}
	a.inventories.Add(1)
	slices.Sort(keys)
	for _, k := range keys {
		version, _ := strconv.ParseUint(k.Name(), 10, 64)
		if err := r.Add(k, version); err != nil {
			return nil, err
		}
	}
	pause(ctx, took)
	return r, ctx.Err()
}

// object returns an object whose only content is its key and version.
func object(k tree.Key, rv uint64) *tree.Object {
	return &tree.Object{Key: k, RV: rv, Data: fmt.Appendf(nil, "%s@%d", k, rv)}
}

// deliver applies an event to the store after a delay.
func deliver(t *testing.T, s *cache.Writer, version uint64, delay time.Duration) {
	time.Sleep(delay)
	if err := s.Apply(cache.Added, object(tree.KeyOf("a", fmt.Sprint(version)), version), time.Now()); err != nil {
		t.Error(err)
	}
}

// withFence runs a test with a store at version 10 and its fence.
func withFence(t *testing.T, test func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence)) {
	synctest.Test(t, func(t *testing.T) {
		a := &fakeAPIServer{version: 10, probeTime: 5 * time.Millisecond}
		s := cache.New(cache.Options{}, nil, 10)
		f := New(s.Store, a, func() Cost { return usual }, a.report)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { f.Run(ctx) })
		test(t, a, s, f)
		cancel()
		wg.Wait()
	})
}

// waitUntilCurrent waits for a state that was current at some moment after the call.
func waitUntilCurrent(f *Fence, ctx context.Context) (version uint64, proof Proof, err error) {
	a, err := f.Prove(ctx, Need{Patient: true})
	return a.Version, a.Proof, err
}

// stalled reports whether a read has waited in vain as long as it could, and no proof has succeeded since.
func stalled(f *Fence) bool { return f.Facts().Stalled }

// The resource has no event, but the resource version of the cluster has risen.
func TestSecondWatchConfirmsAQuietResource(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		version := a.writeElsewhere()
		start := time.Now()
		if proof, err := f.confirm(t.Context(), version); err != nil || proof != BySecondWatch {
			t.Fatal(proof, err)
		}
		if took := time.Since(start); took > 1100*time.Millisecond {
			t.Fatalf("took %v", took)
		}
		if got := s.Snapshot().Version; got < version {
			t.Fatalf("version %d", got)
		}
		synctest.Wait()
		started := a.secondWatches.Load()
		time.Sleep(time.Minute)
		if a.secondWatches.Load() != started {
			t.Fatal("second watches are started while no caller waits")
		}
	})
}

func TestSecondWatchConfirmsNothingBeforeItsEventsAreApplied(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		event := a.write()
		version := a.writeElsewhere()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := f.confirm(ctx, version); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("version %d is confirmed without event %d: %v", version, event, err)
		}
		go deliver(t, s, event, 0)
		if _, err := f.confirm(t.Context(), version); err != nil {
			t.Fatal(err)
		}
		if s.Snapshot().Len() != 1 {
			t.Fatal("confirmed without the event")
		}
	})
}

// A probe or an inventory that is running when the question is asked may have read an older version. One later
// is enough for all callers that wait.
func TestAnAnswerIsSharedOnlyByCallersBeforeIt(t *testing.T) {
	for name, with := range map[string]func(*testing.T, func(*testing.T, *fakeAPIServer, *cache.Writer, *Fence)){
		"probes": withFence, "inventories": withInventories,
	} {
		with(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
			var wg sync.WaitGroup
			ask := func(atLeast uint64) {
				wg.Go(func() {
					if version, err := f.currentVersion(t.Context()); err != nil || version < atLeast {
						t.Errorf("asked at %d, got %d, %v", atLeast, version, err)
					}
				})
			}
			ask(10)
			synctest.Wait() // the first is running and has read version 10
			version := a.writeElsewhere()
			for range 100 {
				ask(version)
			}
			wg.Wait()
			if probes, inventories := a.probes.Load(), a.inventories.Load(); max(probes, inventories) != 2 || (inventories == 2) != (name == "inventories") {
				t.Errorf("%s: %d probes, %d inventories", name, probes, inventories)
			}
		})
	}
}

func TestCloseOfTheStoreEndsEveryWait(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.probeTime = time.Hour
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := f.currentVersion(t.Context()); !errors.Is(err, cache.ErrClosed) && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if _, err := f.confirm(t.Context(), 99); !errors.Is(err, cache.ErrClosed) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		s.Close()
		wg.Wait()
	})
}

func TestADeletionProvesItsVersion(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		deliver(t, s, a.write(), 0)
		version := a.write()
		if err := s.Apply(cache.Deleted, object("a/11", version), time.Now()); err != nil {
			t.Fatal(err)
		}
		if proof, err := f.confirm(t.Context(), version); err != nil || proof != ByOwnWatch {
			t.Error(proof, err)
		}
	})
}

// After a proof that did not come, others need not wait for the next.
func TestStallLastsUntilAProofSucceeds(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		a.noBookmarks = true
		version := a.writeElsewhere()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := f.confirm(ctx, version); err == nil || stalled(f) {
			t.Fatal("confirmed or stalled", err)
		}
		f.giveUp()
		time.Sleep(time.Minute)
		if !stalled(f) {
			t.Fatal("the stall has ended without a proof")
		}
		if r := f.begin(0); !alone(r) {
			t.Error("a read is not alone although only the fence waits")
		} else {
			r.End()
		}
		if err := s.ApplyBookmark(version); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if stalled(f) {
			t.Error("the stall goes on after a proof")
		}
	})
}

// The bookmark of a second watch may be of the history before a restore.
func TestASecondWatchFromBeforeTheDoubtProvesNothingAfterIt(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		version := a.write() // the store lacks the event, so that the proof waits for it
		proven := make(chan error, 1)
		go func() { _, err := f.confirm(t.Context(), version); proven <- err }()
		time.Sleep(1100 * time.Millisecond) // until a second watch has its bookmark
		synctest.Wait()
		a.change(func() { a.noBookmarks = true })
		s.Doubt()
		synctest.Wait()
		s.Trust()
		deliver(t, s, version, 0)
		if err := <-proven; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if proof := f.proofOf(version); proof != ByOwnWatch {
			t.Errorf("proven by %s", proof)
		}
	})
}
