package flowcontrol

import (
	"cmp"
	"context"
	"slices"
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

// enforce ends responses until the limit holds.
func (s *SlowReaders) enforce(now time.Time) {
	all := s.measure(now)
	total := weigh(all)
	s.held.Store(total)
	for range endsAtOnce {
		if total <= s.limit.Load() {
			return
		}
		h := heaviest(all, now)
		if h == nil {
			return
		}
		h.reader.ended.Store(true)
		h.reader.end()
		s.ended.Add(1)
		all = slices.DeleteFunc(all, func(other *held) bool { return other == h })
		total = weigh(all)
		s.held.Store(total)
	}
}

// held is what one response holds.
type held struct {
	reader  *Reader
	state   *heldState // nil if it holds none
	buffers int64
	bytes   int64 // of all, as weigh divides them
}

// measure returns the responses that hold anything, and have not been told to end.
func (s *SlowReaders) measure(now time.Time) (all []*held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		h := &held{reader: r, state: r.state.Load()}
		if r.client.BlockedFor(now) > slowAfter {
			r.blocked.Store(true)
			h.buffers = blockedBytes
			if r.stuck != nil {
				r.stuck()
			}
		}
		if (h.state != nil || h.buffers > 0) && !r.ended.Load() {
			all = append(all, h)
		}
	}
	return all
}

// weigh determines how many bytes each response holds, and returns how many all hold. What several hold
// counts once: it is divided among them.
func weigh(all []*held) (total int64) {
	snapshots, alone := map[*cache.Store][]*cache.Snapshot{}, map[*cache.Store]int64{}
	for _, h := range all {
		h.bytes = h.buffers
		total += h.buffers
		if h.state != nil {
			store := h.state.store
			snapshots[store] = append(snapshots[store], h.state.snapshot)
			alone[store] += store.Held(h.state.snapshot)
		}
	}
	together := map[*cache.Store]int64{}
	for store, of := range snapshots {
		together[store] = store.Held(of...)
		total += together[store]
	}
	for _, h := range all {
		if h.state != nil && alone[h.state.store] > 0 {
			part := float64(h.state.store.Held(h.state.snapshot)) / float64(alone[h.state.store])
			h.bytes += int64(part * float64(together[h.state.store]))
		}
	}
	return total
}

// heaviest returns the response that holds the most, of equal ones the oldest, of the group of accounts that
// holds the most; nil if none that holds something may be ended.
func heaviest(all []*held, now time.Time) (most *held) {
	groups := map[string]int64{}
	for _, h := range all {
		groups[h.reader.key.Group] += h.bytes
	}
	for _, h := range all {
		if h.bytes == 0 || now.Sub(h.reader.since) < spared {
			continue
		}
		if most == nil || cmp.Or(cmp.Compare(groups[h.reader.key.Group], groups[most.reader.key.Group]),
			cmp.Compare(h.bytes, most.bytes), most.reader.since.Compare(h.reader.since)) > 0 {
			most = h
		}
	}
	return most
}
