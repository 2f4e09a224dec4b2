package resources

import (
	"context"
	"sync"
	"time"

	"sluice/proxy/limits"
)

const (
	// maxFills is how many stores are filled at the same time, or compared with the apiserver because their watches are
	// resumed, and how many resources are described. One user has three quarters of the places at most: the conversion
	// webhooks of its resources may hang.
	maxFills = 16
	// fillBytes is about how many bytes the apiserver sends for each place. A large store takes almost half of the places at most.
	fillBytes = 16 << 20
	// fillPlaceFor is how long a fill keeps its places: one that hangs must not keep others waiting.
	fillPlaceFor = 30 * time.Second
	// fillingMost is the longest time for which Options.Filling is true without a break. Each break lasts at least fillingRest
	// times as long as it was true before, because a fill that hangs is retried without end.
	fillingMost = 10 * time.Second
	fillingRest = 5
)

// fills bounds the stores that are filled at the same time, so that a gateway which starts in front of a busy
// cluster, or whose connection broke, does not ask for everything at once. Users take turns.
type fills struct {
	filling func(bool) // as Options.Filling; may be nil
	queue   *limits.Queue

	mu     sync.Mutex  // guards the fields below
	told   bool        // the last value that filling was called with
	since  time.Time   // when that was
	rests  time.Time   // the end of the break
	retell *time.Timer // fires at the end of the break, or of fillingMost; nil before the first
}

func newFills(filling func(bool)) fills {
	return fills{filling: filling, queue: limits.NewQueue(maxFills, 0)}
}

// enter waits for the places of a fill of about so many bytes, which a user has started. The caller must call leave when
// the fill has ended; it may do so again.
func (f *fills) enter(ctx context.Context, bytes int64, user string) (leave func(), err error) {
	free, err := f.queue.Enter(ctx, limits.Caller{Group: user}, int(min(1+max(bytes, 0)/fillBytes, maxFills/2-1)))
	if err != nil {
		return func() {}, err
	}
	f.tell()
	end := sync.OnceFunc(func() { free(); f.tell() })
	late := time.AfterFunc(fillPlaceFor, end)
	return func() { late.Stop(); end() }, nil
}

// tell calls filling if its value has changed.
func (f *fills) tell() {
	if f.filling == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, running, _ := f.queue.Numbers()
	now, runs := time.Now(), running > 0
	switch {
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
		f.retell = time.AfterFunc(next.Sub(now), f.tell)
	} else {
		f.retell.Reset(next.Sub(now))
	}
}
