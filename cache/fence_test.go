package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// apiserver is an upstream made of time: writes happen at once, the store's
// stream lags behind them, and a bookmark is sent to a chaser a second after it
// was opened.
type apiserver struct {
	mu      sync.Mutex
	present uint64
	events  []uint64 // versions of this resource's own events

	probes, chasers atomic.Int32
	probing         time.Duration
	broken          error // what the fence said
}

// write makes an event of the resource, or if foreign one of another.
func (a *apiserver) write(foreign bool) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.present++
	if !foreign {
		a.events = append(a.events, a.present)
	}
	return a.present
}

func (a *apiserver) now() (uint64, []uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.present, a.events
}

func (a *apiserver) Probe(ctx context.Context) (uint64, error) {
	a.probes.Add(1)
	version, _ := a.now()
	idle(ctx, a.probing)
	return version, ctx.Err()
}

func (a *apiserver) ProbeWatch(ctx context.Context, version uint64, event, bookmark func(uint64)) error {
	a.chasers.Add(1)
	idle(ctx, time.Second)
	present, events := a.now()
	for _, e := range events {
		if e > version {
			event(e)
		}
	}
	if ctx.Err() == nil {
		bookmark(present)
	}
	return ctx.Err()
}

func idle(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// stream applies the resource's events to the store with a delay.
func (a *apiserver) stream(t *testing.T, s *Store, version uint64, delay time.Duration) {
	time.Sleep(delay)
	if err := s.Apply(Added, testObject(KeyOf("a", fmt.Sprint(version)), version), time.Now()); err != nil {
		t.Error(err)
	}
}

// fenced runs a test with a store at version 10 and its fence.
func fenced(t *testing.T, test func(t *testing.T, a *apiserver, s *Store, f *Fence)) {
	synctest.Test(t, func(t *testing.T) {
		a := &apiserver{present: 10, probing: 5 * time.Millisecond}
		s := New(Options{}, nil, 10)
		f := NewFence(s, a, func(err error) { a.broken = err })
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { f.Run(ctx) })
		test(t, a, s, f)
		cancel()
		wg.Wait()
	})
}

func TestFenceIsFreshAtOnce(t *testing.T) {
	fenced(t, func(t *testing.T, a *apiserver, s *Store, f *Fence) {
		start := time.Now()
		x, err := f.CurrentVersion(t.Context())
		if err != nil || x != 10 || f.WaitFor(t.Context(), x, true) != nil {
			t.Fatal(x, err)
		}
		if took := time.Since(start); took != a.probing || a.chasers.Load() != 0 {
			t.Fatalf("took %v and %d chasers", took, a.chasers.Load())
		}
	})
}

// The stream's own event proves the version; nobody needs to chase.
func TestFenceWaitsForTheStream(t *testing.T) {
	fenced(t, func(t *testing.T, a *apiserver, s *Store, f *Fence) {
		v := a.write(false)
		go a.stream(t, s, v, 50*time.Millisecond)
		if err := f.WaitFor(t.Context(), v, false); err != nil || f.ByProbeWatch(v) {
			t.Fatal(err, f.ByProbeWatch(v))
		}
	})
}

// Nothing happens in the resource, but the cluster's version has moved on.
func TestFenceChasesOnQuietResources(t *testing.T) {
	fenced(t, func(t *testing.T, a *apiserver, s *Store, f *Fence) {
		v := a.write(true)
		start := time.Now()
		if err := f.WaitFor(t.Context(), v, true); err != nil || !f.ByProbeWatch(v) {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 1100*time.Millisecond {
			t.Fatalf("took %v", took)
		}
		if got := s.Snapshot().Version; got < v {
			t.Fatalf("version %d", got)
		}
		synctest.Wait()
		started := a.chasers.Load()
		time.Sleep(time.Minute)
		if a.chasers.Load() != started {
			t.Fatal("chasers are started though nobody waits")
		}
	})
}

// A chaser's bookmark proves nothing before the store holds the events that
// came before it.
func TestFenceMatchesTheChasersEvents(t *testing.T) {
	fenced(t, func(t *testing.T, a *apiserver, s *Store, f *Fence) {
		event := a.write(false)
		v := a.write(true)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := f.WaitFor(ctx, v, true); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("reached %d without event %d: %v", v, event, err)
		}
		go a.stream(t, s, event, 0)
		if err := f.WaitFor(t.Context(), v, true); err != nil {
			t.Fatal(err)
		}
		if s.Snapshot().Len() != 1 {
			t.Fatal("proven without the event")
		}
	})
}

// Who asks while a probe is under way must get another: its answer is older
// than the question. But one is enough for all who wait.
func TestProbesAreSharedOnlyByThoseBefore(t *testing.T) {
	fenced(t, func(t *testing.T, a *apiserver, s *Store, f *Fence) {
		var wg sync.WaitGroup
		ask := func(atLeast uint64) {
			wg.Go(func() {
				if x, err := f.CurrentVersion(t.Context()); err != nil || x < atLeast {
					t.Errorf("asked at %d, told %d, %v", atLeast, x, err)
				}
			})
		}
		ask(10)
		synctest.Wait() // the first probe is under way, and has read version 10
		v := a.write(true)
		for range 100 {
			ask(v)
		}
		wg.Wait()
		if n := a.probes.Load(); n != 2 {
			t.Fatalf("%d probes", n)
		}
	})
}

func TestFenceEndsWithItsStore(t *testing.T) {
	fenced(t, func(t *testing.T, a *apiserver, s *Store, f *Fence) {
		a.probing = time.Hour
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := f.CurrentVersion(t.Context()); !errors.Is(err, ErrClosed) && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if err := f.WaitFor(t.Context(), 99, true); !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		s.Close()
		wg.Wait()
	})
}

// An upstream that was restored from a backup has versions that the store has
// long passed: nothing of the store can be trusted.
func TestFenceNoticesAnUpstreamThatWentBack(t *testing.T) {
	fenced(t, func(t *testing.T, a *apiserver, s *Store, f *Fence) {
		a.present = 7
		if _, err := f.CurrentVersion(t.Context()); !errors.Is(err, ErrDiverged) || !errors.Is(a.broken, ErrDiverged) {
			t.Fatalf("told %v, said %v", err, a.broken)
		}
	})
}
