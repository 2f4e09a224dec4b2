package fence

import (
	"context"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/cache"
)

// ledger keeps who waits for which work.
type ledger struct {
	mu      sync.Mutex
	waiting map[string]int // by the name of work
	ended   int
}

type sharedWork struct {
	of   *ledger
	name string
}

func (w *sharedWork) Join(read context.Context) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if read.Value(readKey{}) != nil {
		w.of.waiting[w.name]++
	}
}

func (w *sharedWork) In(ctx context.Context) context.Context { return ctx }

func (w *sharedWork) End() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.of.ended++
}

type readKey struct{}

// Else the trace of a read would not show what it has waited for.
func TestEachReadJoinsTheWorkThatProvesItsState(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*fakeAPIServer)
		read    func(context.Context, *Fence) error
		want    map[string]int
	}{
		"a current store": {
			func(*fakeAPIServer) {},
			func(ctx context.Context, f *Fence) error { _, err := f.currentVersion(ctx); return err },
			map[string]int{"probe": 2},
		},
		"a second watch": {
			func(a *fakeAPIServer) { a.writeElsewhere() },
			func(ctx context.Context, f *Fence) error { _, _, err := waitUntilCurrent(f, ctx); return err },
			map[string]int{"probe": 2, "second watch": 2},
		},
		"an inventory": {
			func(a *fakeAPIServer) { a.inventoryTime = 5 * time.Millisecond; a.writeElsewhere() },
			func(ctx context.Context, f *Fence) error { _, err := f.confirm(ctx, 11); return err },
			map[string]int{"inventory": 2},
		},
		"an inventory of exactly a version": {
			func(a *fakeAPIServer) { a.inventoryTime = 5 * time.Millisecond; a.writeElsewhere() },
			func(ctx context.Context, f *Fence) error { _, err := f.confirmAt(ctx, 11, 1<<24); return err },
			map[string]int{"inventory": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFence(t, func(t *testing.T, a *fakeAPIServer, _ *cache.Writer, f *Fence) {
				l := &ledger{waiting: map[string]int{}}
				f.Shares = func(name string) Shared { return &sharedWork{l, name} }
				test.prepare(a)
				ctx := context.WithValue(t.Context(), readKey{}, true)
				var reads sync.WaitGroup
				for range 2 {
					reads.Go(func() {
						if err := test.read(ctx, f); err != nil {
							t.Error(err)
						}
					})
				}
				reads.Wait()
				synctest.Wait()
				if !maps.Equal(l.waiting, test.want) {
					t.Errorf("joined %v, want %v", l.waiting, test.want)
				}
			})
		})
	}
}
