package cache

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

	"sluice/cache/tree"
)

// fakeAPIServer is a Prober. Its writes happen at once, the store's stream lags behind them, and a
// probe watch gets a bookmark one second after it was opened.
type fakeAPIServer struct {
	mu      sync.Mutex
	version uint64
	events  []uint64 // resource versions of the events of this resource

	probes, probeWatches, rollCalls atomic.Int32
	probeTime                       time.Duration
	rollCallTime                    time.Duration // 0 if roll calls fail
	rollCallBytes                   int
	noBookmarks                     bool
	refuses                         error // what probes fail with
	diverged                        error // what the fence reported
}

// write commits an event of the resource.
func (a *fakeAPIServer) write() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	a.events = append(a.events, a.version)
	return a.version
}

// writeElsewhere commits an event of another resource.
func (a *fakeAPIServer) writeElsewhere() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	return a.version
}

// report records what the fence reports.
func (a *fakeAPIServer) report(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.diverged = err
}

// reported returns what the fence has reported last.
func (a *fakeAPIServer) reported() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.diverged
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
	sleep(ctx, took)
	return version, cmp.Or(err, ctx.Err())
}

func (a *fakeAPIServer) ProbeWatch(ctx context.Context, version uint64, event, bookmark func(uint64)) error {
	a.probeWatches.Add(1)
	sleep(ctx, time.Second)
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
		sleep(ctx, 2*time.Second)
		return ctx.Err()
	}
	if ctx.Err() == nil {
		bookmark(current)
	}
	return ctx.Err()
}

var errNoList = errors.New("list failed")

// RollCall lists the state at the moment of the call, or at a version: an object for each event.
func (a *fakeAPIServer) RollCall(ctx context.Context, _ Scope, at uint64) (*RollCall, error) {
	a.mu.Lock()
	took, r := a.rollCallTime, &RollCall{Version: cmp.Or(at, a.version), Bytes: a.rollCallBytes}
	future := r.Version > a.version
	var keys []tree.Key
	for _, e := range a.events {
		if e <= r.Version {
			keys = append(keys, tree.KeyOf("a", fmt.Sprint(e)))
		}
	}
	a.mu.Unlock()
	if future {
		sleep(ctx, 3*time.Second)
		return nil, errNoList
	}
	if took == 0 {
		return nil, errNoList
	}
	a.rollCalls.Add(1)
	slices.Sort(keys)
	for _, k := range keys {
		version, _ := strconv.ParseUint(k.Name(), 10, 64)
		if err := r.Add(k, version); err != nil {
			return nil, err
		}
	}
	sleep(ctx, took)
	return r, ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// deliver applies an event to the store after a delay.
func deliver(t *testing.T, s *Store, version uint64, delay time.Duration) {
	time.Sleep(delay)
	if err := s.Apply(Added, testObject(tree.KeyOf("a", fmt.Sprint(version)), version), time.Now()); err != nil {
		t.Error(err)
	}
}

// withFence runs a test with a store at version 10 and its fence.
func withFence(t *testing.T, test func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence)) {
	synctest.Test(t, func(t *testing.T) {
		a := &fakeAPIServer{version: 10, probeTime: 5 * time.Millisecond}
		s := New(Options{}, nil, 10)
		f := NewFence(s, a, func() Cost { return Cost{} }, a.report)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { f.Run(ctx) })
		test(t, a, s, f)
		cancel()
		wg.Wait()
	})
}

func TestFenceOfACurrentStoreCostsOneProbe(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		start := time.Now()
		version, err := f.CurrentVersion(t.Context())
		if err != nil || version != 10 {
			t.Fatal(version, err)
		}
		if proof, err := f.Confirm(t.Context(), version); err != nil || proof != ByStream {
			t.Fatal(proof, err)
		}
		if took := time.Since(start); took != a.probeTime || a.probeWatches.Load() != 0 {
			t.Fatalf("took %v and %d probe watches", took, a.probeWatches.Load())
		}
	})
}

func TestEventOfTheStreamIsProof(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		version := a.write()
		go deliver(t, s, version, 50*time.Millisecond)
		if err := f.WaitFor(t.Context(), version); err != nil {
			t.Fatal(err)
		}
		if n := a.probeWatches.Load(); n != 0 {
			t.Fatalf("%d probe watches", n)
		}
		if proof, err := f.Confirm(t.Context(), version); err != nil || proof != ByStream {
			t.Fatal(proof, err)
		}
	})
}

// The resource has no event, but the resource version of the cluster has risen.
func TestProbeWatchConfirmsAQuietResource(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		version := a.writeElsewhere()
		start := time.Now()
		if proof, err := f.Confirm(t.Context(), version); err != nil || proof != ByProbeWatch {
			t.Fatal(proof, err)
		}
		if took := time.Since(start); took > 1100*time.Millisecond {
			t.Fatalf("took %v", took)
		}
		if got := s.Snapshot().Version; got < version {
			t.Fatalf("version %d", got)
		}
		synctest.Wait()
		started := a.probeWatches.Load()
		time.Sleep(time.Minute)
		if a.probeWatches.Load() != started {
			t.Fatal("probe watches are started while no caller waits")
		}
	})
}

func TestProbeWatchConfirmsNothingBeforeItsEventsAreApplied(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		event := a.write()
		version := a.writeElsewhere()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := f.Confirm(ctx, version); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("version %d is confirmed without event %d: %v", version, event, err)
		}
		go deliver(t, s, event, 0)
		if _, err := f.Confirm(t.Context(), version); err != nil {
			t.Fatal(err)
		}
		if s.Snapshot().Len() != 1 {
			t.Fatal("confirmed without the event")
		}
	})
}

// A probe that is running when the question is asked may have read an older version. One later
// probe is enough for all callers that wait.
func TestProbeIsSharedOnlyByCallersBeforeIt(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		var wg sync.WaitGroup
		ask := func(atLeast uint64) {
			wg.Go(func() {
				if version, err := f.CurrentVersion(t.Context()); err != nil || version < atLeast {
					t.Errorf("asked at %d, got %d, %v", atLeast, version, err)
				}
			})
		}
		ask(10)
		synctest.Wait() // the first probe is running and has read version 10
		version := a.writeElsewhere()
		for range 100 {
			ask(version)
		}
		wg.Wait()
		if n := a.probes.Load(); n != 2 {
			t.Fatalf("%d probes", n)
		}
	})
}

func TestCloseOfTheStoreEndsEveryWait(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		a.probeTime = time.Hour
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := f.CurrentVersion(t.Context()); !errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if _, err := f.Confirm(t.Context(), 99); !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		s.Close()
		wg.Wait()
	})
}

func TestWaitUntilCurrentOutlastsAnUnreachableAPIServer(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		a.probeTime = time.Hour // every probe times out
		time.AfterFunc(time.Minute, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.probeTime = time.Millisecond
		})
		start := time.Now()
		version, _, err := f.WaitUntilCurrent(t.Context())
		if err != nil || version != 10 || time.Since(start) < time.Minute {
			t.Fatalf("version %d after %v, %v", version, time.Since(start), err)
		}
	})
}

func TestWaitUntilCurrentEndsWithItsContext(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		a.probeTime = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, _, err := f.WaitUntilCurrent(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

// An apiserver that was restored from a backup is behind the store, whose content is then unknown
// to the apiserver.
func TestFenceReportsAnAPIServerBehindTheStore(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *Store, f *Fence) {
		a.version = 7
		if _, err := f.CurrentVersion(t.Context()); !errors.Is(err, ErrDiverged) || !errors.Is(a.diverged, ErrDiverged) {
			t.Fatalf("got %v, reported %v", err, a.diverged)
		}
	})
}
