package resources

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxFills is how many stores are filled at the same time, and how many resources are described.
	maxFills = 16
	// maxFillBytes is about how many bytes the apiserver sends for them; a store that is larger than half
	// of it counts as half.
	maxFillBytes = 256 << 20
	// solePart is the part of both that fills for nobody but one reader of a part of a resource take.
	solePart = 2
	// fillPlaceFor is how long a fill keeps its place: one that hangs must not keep others waiting.
	fillPlaceFor = 30 * time.Second
)

// fills bounds the stores that are filled at the same time, so that a gateway which starts before a busy
// cluster does not ask for everything at once. Of those that wait and fit, the most urgent come first. A reader
// counts the less the more fills run that its reads have started, so that users take turns.
type fills struct {
	mu      sync.Mutex // guards what follows
	all     share
	sole    share          // of those that are for one reader of a part
	running map[string]int // fills by the user who started them
	waiting []*waitingFill
}

// share is a number of fills and their bytes.
type share struct {
	count int
	bytes int64
}

// fits reports whether one more fill fits into a part of the whole.
func (s share) fits(bytes int64, part int) bool {
	return s.count < maxFills/part && s.bytes+bytes <= maxFillBytes/int64(part)
}

func (s *share) add(count int, bytes int64) {
	s.count += count
	s.bytes += bytes
}

// waitingFill is a fill that waits for its place.
type waitingFill struct {
	bytes  int64
	by     string // the user who started it
	demand *demand
	sole   bool // it entered for one reader of a part
	enter  chan struct{}
}

// enter waits for a place for a fill of about so many bytes. The caller must call leave when the fill has
// ended; it may do so again.
func (f *fills) enter(ctx context.Context, bytes int64, by string, d *demand) (leave func(), err error) {
	w := &waitingFill{bytes: min(max(bytes, 0), maxFillBytes/2), by: by, demand: d, enter: make(chan struct{})}
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
	f.take(w, -1)
	f.admit()
}

// take takes places for a fill, or gives them back. The caller must hold mu.
func (f *fills) take(w *waitingFill, places int) {
	bytes := int64(places) * w.bytes
	f.all.add(places, bytes)
	if w.sole {
		f.sole.add(places, bytes)
	}
	if f.running == nil {
		f.running = map[string]int{}
	}
	if f.running[w.by] += places; f.running[w.by] == 0 {
		delete(f.running, w.by)
	}
}

// admit gives places to the fills that fit. The caller must hold mu.
func (f *fills) admit() {
	for f.all.count < maxFills {
		next := f.next()
		if next < 0 {
			return
		}
		w := f.waiting[next]
		f.waiting = slices.Delete(f.waiting, next, next+1)
		f.take(w, 1)
		close(w.enter)
	}
}

// next returns the most urgent fill that fits, -1 if there is none. Those for one reader of a part come last.
// The caller must hold mu.
func (f *fills) next() int {
	next, most, nextSole := -1, 0.0, false
	for i, w := range f.waiting {
		var urgency float64
		urgency, w.sole = w.demand.urgency(f.running)
		if !f.all.fits(w.bytes, 1) || w.sole && !f.sole.fits(w.bytes, solePart) {
			continue
		}
		if next < 0 || nextSole && !w.sole || nextSole == w.sole && urgency > most {
			next, most, nextSole = i, urgency, w.sole
		}
	}
	return next
}
