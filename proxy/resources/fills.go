package resources

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxFills is how many stores are filled at the same time, or compared with the apiserver because their watches are
	// resumed, and how many resources are described.
	maxFills = 16
	// userFills is how many of them one user may have started: the conversion webhooks of its resources may hang.
	userFills = maxFills * 3 / 4
	// maxFillBytes is about how many bytes the apiserver sends for them; a store that is larger than half
	// of it counts as half.
	maxFillBytes = 256 << 20
	// solePart is the part of both that fills for nobody but one reader of a part of a resource take.
	solePart = 2
	// fillPlaceFor is how long a fill keeps its place: one that hangs must not keep others waiting.
	fillPlaceFor = 30 * time.Second
	// fillingMost is the longest time for which Options.Filling is true without a break. Each break lasts at least fillingRest
	// times as long as it was true before, because a fill that hangs is retried without end.
	fillingMost = 10 * time.Second
	fillingRest = 5
)

// fills bounds the stores that are filled at the same time, so that a gateway which starts before a busy
// cluster, or whose connection broke, does not ask for everything at once. Of those that wait and fit, the most urgent
// come first. A reader counts the less the more fills run that its reads have started, so that users take turns.
type fills struct {
	filling func(bool) // as Options.Filling; may be nil

	mu      sync.Mutex // guards the fields below
	running []*fill
	waiting []*fill
	told    bool        // the last value that filling was called with
	since   time.Time   // when that was
	rests   time.Time   // the end of the break
	retell  *time.Timer // fires at the end of the break, or of fillingMost; nil before the first
}

// fill is a fill that runs or waits for its place.
type fill struct {
	bytes  int64
	by     string // the user that started it
	demand *demand
	sole   bool          // it is for one reader of a part
	enter  chan struct{} // closed when it runs
}

// enter waits for a place for a fill of about so many bytes. The caller must call leave when the fill has
// ended; it may do so again.
func (f *fills) enter(ctx context.Context, bytes int64, by string, d *demand) (leave func(), err error) {
	w := &fill{bytes: min(max(bytes, 0), maxFillBytes/2), by: by, demand: d, enter: make(chan struct{})}
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
func (f *fills) leave(w *fill) {
	f.mu.Lock()
	defer f.mu.Unlock()
	is := func(other *fill) bool { return other == w }
	f.running, f.waiting = slices.DeleteFunc(f.running, is), slices.DeleteFunc(f.waiting, is)
	f.admit()
}

// admit gives places to the fills that fit. The caller must hold mu.
func (f *fills) admit() {
	for next := f.next(); next != nil; next = f.next() {
		f.waiting = slices.DeleteFunc(f.waiting, func(w *fill) bool { return w == next })
		f.running = append(f.running, next)
		close(next.enter)
	}
	f.tell()
}

// tell calls filling if its value has changed. The caller must hold mu.
func (f *fills) tell() {
	now, runs := time.Now(), len(f.running) > 0
	switch {
	case f.filling == nil:
		return
	case f.told && (!runs || now.Sub(f.since) >= fillingMost):
		f.told, f.rests = false, now.Add(fillingRest*now.Sub(f.since))
		f.filling(false)
	case !f.told && runs && !now.Before(f.rests):
		f.told, f.since = true, now
		f.filling(true)
	}
	if !runs {
		return
	}
	next := f.rests
	if f.told {
		next = f.since.Add(fillingMost)
	}
	if f.retell == nil {
		f.retell = time.AfterFunc(next.Sub(now), func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.tell()
		})
	} else {
		f.retell.Reset(next.Sub(now))
	}
}

// next returns the most urgent fill that fits, nil if there is none. Those for one reader of a part come last.
// The caller must hold mu.
func (f *fills) next() (next *fill) {
	if len(f.running) == maxFills {
		return nil
	}
	running := map[string]int{}
	for _, r := range f.running {
		running[r.by]++
	}
	var most float64
	for _, w := range f.waiting {
		var urgency float64
		urgency, w.sole = w.demand.urgency(running)
		if running[w.by] >= userFills || !f.fits(w) {
			continue
		}
		if next == nil || next.sole && !w.sole || next.sole == w.sole && urgency > most {
			next, most = w, urgency
		}
	}
	return next
}

// fits reports whether there is a place for one more fill. The caller must hold mu.
func (f *fills) fits(w *fill) bool {
	part, count, bytes := 1, 1, w.bytes
	if w.sole {
		part = solePart
	}
	for _, r := range f.running {
		if !w.sole || r.sole {
			count, bytes = count+1, bytes+r.bytes
		}
	}
	return count <= maxFills/part && bytes <= maxFillBytes/int64(part)
}
