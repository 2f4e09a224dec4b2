package flowcontrol

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"sluice/cache"
	"sluice/proxy/accounts"
	"sluice/proxy/response"
)

// TooSlow is the reason of a response that ended because slow readers held too much memory.
const TooSlow = "too-slow"

const (
	// patience is how long a response may wait for its client until it makes room for others whose buffers need its memory:
	// more than a way there and back to clients far away.
	patience = 250 * time.Millisecond
	// measureEvery is how often the memory that readers hold is measured.
	measureEvery = time.Second
	// slowAfter is how long a write may take before its buffers count.
	slowAfter = time.Second
	// blockedBytes is what a response whose client does not read holds at most: a piece of it, and what
	// has been read of a passed one.
	blockedBytes = 256 << 10
	// spared is the age of the youngest response that may be ended for what it was not counted for at once, while its client
	// accepts what is written. Within this time the limits of requests bound what a user can hold.
	spared = 10 * time.Second
)

// SlowReaders measures what open responses hold because their clients read slowly: buffers, and states of stores that
// nobody else has any more. Their callers' accounts count it ([accounts.Held]): the buffers of responses from the cache at
// once, the rest each second. A nil SlowReaders measures nothing.
type SlowReaders struct {
	grants map[*Reader]*accounts.Grant // what was held at the last measurement

	mu      sync.Mutex // guards readers
	readers map[*Reader]struct{}
}

// NewSlowReaders returns SlowReaders.
func NewSlowReaders() *SlowReaders { return &SlowReaders{readers: map[*Reader]struct{}{}} }

// Reader is the client of one open response. Its methods can be called on nil.
type Reader struct {
	all     *SlowReaders
	account accounts.Account
	client  *response.WriteDeadline
	end     func()
	since   time.Time
	counted int64 // what was held at the last measurement

	buffer  *accounts.Grant // of its own goroutine
	buffers atomic.Bool     // buffer is not empty
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
func (s *SlowReaders) Track(a accounts.Account, client *response.WriteDeadline, end func()) *Reader {
	if s == nil {
		return nil
	}
	r := &Reader{all: s, account: a, client: client, end: end, since: time.Now()}
	s.mu.Lock()
	s.readers[r] = struct{}{}
	s.mu.Unlock()
	return r
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

// Buffer counts so many bytes of buffers, instead of those before, until Done. The response can end for them as soon as its
// client lets it wait. The error is an *accounts.Refused. The goroutine of the response must call it.
func (r *Reader) Buffer(bytes int64) (err error) {
	if r == nil {
		return nil
	}
	if r.buffer == nil {
		r.buffer, err = r.account.TakeShared(accounts.Held, bytes, r.isAccepted, r.finish)
	} else {
		err = r.buffer.Resize(bytes)
	}
	r.buffers.Store(bytes > 0)
	return err
}

// isAccepted reports whether the client accepts what is written.
func (r *Reader) isAccepted() bool { return r.client.BlockedFor(time.Now()) < patience }

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
	r.buffer.Release()
}

// isSpared reports whether the response is too young to be ended for what is measured.
func (r *Reader) isSpared() bool { return time.Since(r.since) < spared && r.isAccepted() }

// finish tells the response to end.
func (r *Reader) finish() {
	if r.ended.CompareAndSwap(false, true) {
		r.end()
	}
}

// Run measures until ctx ends.
func (s *SlowReaders) Run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) { s.measure(time.Now()) }, measureEvery)
}

// measure makes the accounts count what each response holds. One whose account may not hold that ends.
func (s *SlowReaders) measure(now time.Time) {
	all, before := weigh(s.holders(now)), s.grants
	s.grants = map[*Reader]*accounts.Grant{}
	for _, h := range all {
		r := h.reader
		s.grants[r] = before[r]
		delete(before, r)
		if s.grants[r] == nil {
			s.grants[r], _ = r.account.TakeWhileBusy(accounts.Held, 0, r.isSpared, r.finish)
			r.counted = 0
		}
	}
	for _, grant := range before { // of those that hold nothing any more
		grant.Release()
	}
	// What a new reader shares with others is less for them: it would count twice if it were taken first.
	slices.SortFunc(all, func(a, b *held) int { return cmp.Compare(a.bytes-a.reader.counted, b.bytes-b.reader.counted) })
	for _, h := range all {
		r := h.reader
		switch err := s.grants[r].Resize(h.bytes); {
		case err == nil:
			r.counted = h.bytes
		case !r.isSpared():
			r.finish()
		}
	}
}

// held is what one response holds.
type held struct {
	reader *Reader
	state  *heldState // nil if it holds none
	text   *byte      // the first of a long text that it writes; nil if it holds none
	length int64      // of the text
	bytes  int64      // its buffers and, once it is weighed, its part of the states and of the text
}

// holders returns what the responses hold that hold anything, and were not told to end.
func (s *SlowReaders) holders(now time.Time) (all []*held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.readers {
		h := &held{reader: r, state: r.state.Load()}
		if r.client.BlockedFor(now) > slowAfter {
			r.blocked.Store(true)
			if !r.buffers.Load() {
				h.bytes = blockedBytes
			}
		}
		if !r.buffers.Load() { // the buffers of a text that is nobody else's are counted
			h.text, h.length = r.client.Held()
		}
		if (h.state != nil || h.text != nil || h.bytes > 0) && !r.ended.Load() {
			all = append(all, h)
		}
	}
	return all
}

// weigh determines how many bytes each response holds. What several hold counts once: it is divided among them.
func weigh(all []*held) []*held {
	snapshots, alone := map[*cache.Store][]*cache.Snapshot{}, map[*cache.Store]int64{}
	seen, texts := map[*cache.Snapshot]bool{}, map[*byte]int64{}
	for _, h := range all {
		texts[h.text]++
		if h.state != nil {
			store, snapshot := h.state.store, h.state.snapshot
			if !seen[snapshot] {
				seen[snapshot] = true
				snapshots[store] = append(snapshots[store], snapshot)
			}
			alone[store] += store.Held(snapshot)
		}
	}
	together := map[*cache.Store]int64{}
	for store, of := range snapshots {
		together[store] = store.Held(of...)
	}
	for _, h := range all {
		if h.text != nil {
			h.bytes += h.length / texts[h.text]
		}
		if h.state != nil && alone[h.state.store] > 0 {
			part := float64(h.state.store.Held(h.state.snapshot)) / float64(alone[h.state.store])
			h.bytes += int64(math.Ceil(part * float64(together[h.state.store])))
		}
	}
	return all
}
