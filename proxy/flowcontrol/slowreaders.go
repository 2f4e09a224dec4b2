package flowcontrol

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sluice/cache"
	"sluice/proxy/accounts"
	"sluice/proxy/response"
)

// TooSlow is the reason of a response that ended because slow readers held too much memory.
const TooSlow = "too-slow"

const (
	// measureEvery is how often the memory that readers hold is measured.
	measureEvery = time.Second
	// slowAfter is how long a write may take before its buffers count.
	slowAfter = time.Second
	// blockedBytes is what a response whose client does not read holds at most: a piece of it, and what
	// has been read of a passed one.
	blockedBytes = 256 << 10
	// spared is the age of the youngest response that may be ended. Within this time the limits of
	// requests bound what a user can hold.
	spared = 10 * time.Second
	// endsAtOnce bounds the responses that one measurement ends, and so its duration.
	endsAtOnce = 100
)

// SlowReaders bounds the memory that open responses hold because their clients read slowly: buffers,
// and states of stores that nobody else has any more. When they hold too much together, the response that
// holds the most ends, of the group of accounts with the most. A nil SlowReaders bounds
// nothing.
type SlowReaders struct {
	limit atomic.Int64 // bytes
	held  atomic.Int64 // at the last measurement
	ended atomic.Uint64

	mu      sync.Mutex // guards what follows
	readers map[*Reader]struct{}
}

// NewSlowReaders returns SlowReaders that may hold so many bytes together.
func NewSlowReaders(limit int64) *SlowReaders {
	s := &SlowReaders{readers: map[*Reader]struct{}{}}
	s.SetLimit(limit)
	return s
}

// SetLimit changes how many bytes they may hold together.
func (s *SlowReaders) SetLimit(bytes int64) { s.limit.Store(bytes) }

// Reader is the client of one open response. Its methods can be called on nil.
type Reader struct {
	all    *SlowReaders
	key    accounts.Key
	client *response.WriteDeadline
	end    func()
	stuck  func() // called when a write has been blocked for a second; nil for nobody
	since  time.Time

	state   atomic.Pointer[heldState]
	blocked atomic.Bool
	ended   atomic.Bool
}

type heldState struct {
	store    *cache.Store
	snapshot *cache.Snapshot
}

// Track counts the response that client writes for a caller. end is called, in
// another goroutine and at most once, when the response must end; it must not block. The caller must call
// Done after the response.
func (s *SlowReaders) Track(k accounts.Key, client *response.WriteDeadline, end func()) *Reader {
	if s == nil {
		return nil
	}
	r := &Reader{all: s, key: k, client: client, end: end, since: time.Now()}
	s.mu.Lock()
	s.readers[r] = struct{}{}
	s.mu.Unlock()
	return r
}

// OnStuck sets a function to call each time a write is found to have been blocked for a second. It must be
// called before the first write, and f must not block.
func (r *Reader) OnStuck(f func()) {
	if r != nil {
		r.stuck = f
	}
}

// Hold counts a state of a store as held by the response, instead of the one before; a nil snapshot counts
// none.
func (r *Reader) Hold(store *cache.Store, snapshot *cache.Snapshot) {
	switch {
	case r == nil:
	case snapshot == nil:
		r.state.Store(nil)
	default:
		r.state.Store(&heldState{store, snapshot})
	}
}

// WasBlocked reports whether a write has been blocked for a second since the last call: then the response
// should hold no more than it is about to write.
func (r *Reader) WasBlocked() bool { return r != nil && r.blocked.Load() && r.blocked.Swap(false) }

// Ended reports whether the response was told to end.
func (r *Reader) Ended() bool { return r != nil && r.ended.Load() }

// Done ends the counting.
func (r *Reader) Done() {
	if r == nil {
		return
	}
	r.all.mu.Lock()
	delete(r.all.readers, r)
	r.all.mu.Unlock()
}

// Run measures and ends responses until ctx ends.
func (s *SlowReaders) Run(ctx context.Context) {
	t := time.NewTicker(measureEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			s.enforce(now)
		}
	}
}

// enforce ends responses until the limits hold.
func (s *SlowReaders) enforce(now time.Time) {
	all, groups := s.measure(now)
	s.held.Store(all.bytes())
	ends := 0
	end := func(u *holding) bool {
		h := u.largest(now)
		if h == nil || ends == endsAtOnce {
			return false
		}
		ends++
		u.remove(h)
		all.remove(h)
		h.reader.ended.Store(true)
		h.reader.end()
		s.ended.Add(1)
		return true
	}
	for all.bytes() > s.limit.Load() {
		if !end(heaviest(groups, now)) {
			break
		}
	}
}

// measure returns what all readers hold together, and each group of accounts. Readers that were told to end do not
// count.
func (s *SlowReaders) measure(now time.Time) (all *holding, groups map[string]*holding) {
	all, groups = newHolding(), map[string]*holding{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		h := &held{reader: r, heldState: r.state.Load()}
		if r.client.BlockedFor(now) > slowAfter {
			r.blocked.Store(true)
			h.buffers = blockedBytes
			if r.stuck != nil {
				r.stuck()
			}
		}
		if h.heldState == nil && h.buffers == 0 || r.ended.Load() {
			continue
		}
		if groups[r.key.Group] == nil {
			groups[r.key.Group] = newHolding()
		}
		groups[r.key.Group].add(h)
		all.add(h)
	}
	return all, groups
}

// heaviest returns the group that holds the most among those with a response that may be ended, or one
// that holds nothing.
func heaviest(groups map[string]*holding, now time.Time) *holding {
	most := newHolding()
	for _, u := range groups {
		if u.bytes() > most.bytes() && u.largest(now) != nil {
			most = u
		}
	}
	return most
}
