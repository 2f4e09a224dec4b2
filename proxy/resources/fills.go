package resources

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxFills is how many stores are filled at the same time.
	maxFills = 16
	// maxFillBytes is about how many bytes the apiserver sends for them; a store that is larger than half
	// of it counts as half.
	maxFillBytes = 256 << 20
	// fillPlaceFor is how long a fill keeps its place: one that hangs must not keep others waiting.
	fillPlaceFor = 30 * time.Second
)

// fills bounds the stores that are filled at the same time, so that a gateway which starts before a busy
// cluster does not ask for everything at once. Of those that wait and fit, the most wanted come first.
type fills struct {
	mu      sync.Mutex // guards what follows
	count   int
	bytes   int64
	waiting []*waitingFill
}

// waitingFill is a fill that waits for its place.
type waitingFill struct {
	bytes  int64
	wanted func() int64 // how many reads wait for the store, or have passed without it
	enter  chan struct{}
}

// enter waits for a place for a fill of about so many bytes. The caller must call leave when the fill has
// ended; it may do so again.
func (f *fills) enter(ctx context.Context, bytes int64, wanted func() int64) (leave func(), err error) {
	w := &waitingFill{bytes: min(max(bytes, 0), maxFillBytes/2), wanted: wanted, enter: make(chan struct{})}
	f.mu.Lock()
	f.waiting = append(f.waiting, w)
	f.admit()
	f.mu.Unlock()
	end := sync.OnceFunc(func() { f.leave(w) })
	select {
	case <-w.enter:
		late := time.AfterFunc(fillPlaceFor, end)
		return func() { late.Stop(); end() }, nil
	case <-ctx.Done():
		end()
		return end, ctx.Err()
	}
}

// leave frees the place of a fill, or ends its wait.
func (f *fills) leave(w *waitingFill) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.waiting, w); i >= 0 {
		f.waiting = slices.Delete(f.waiting, i, i+1)
		return
	}
	f.count--
	f.bytes -= w.bytes
	f.admit()
}

// admit gives places to the fills that fit. The caller must hold mu.
func (f *fills) admit() {
	for f.count < maxFills {
		next := -1
		for i, w := range f.waiting {
			if f.bytes+w.bytes <= maxFillBytes && (next < 0 || w.wanted() > f.waiting[next].wanted()) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		w := f.waiting[next]
		f.waiting = slices.Delete(f.waiting, next, next+1)
		f.count++
		f.bytes += w.bytes
		close(w.enter)
	}
}
