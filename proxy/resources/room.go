package resources

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// storeOverhead is the estimated memory of a store besides its objects, in bytes: its watch at the apiserver,
	// buffers and goroutines.
	storeOverhead = 128 << 10
	// grown is how much a fill reads between two looks at the room, in bytes.
	grown = 256 << 10
	// unusedAfter is how long a store without open watches must not have been read before it ends for another one.
	unusedAfter = time.Minute
	// beginPart is the part of the room by which it is exceeded at most while resources are described.
	beginPart = 8
	// firstObject divides the estimate of a fill, which is the number of objects times the first one: the first
	// may be so many times as large as the others.
	firstObject = 4
	// enforceEvery is how often the stores are measured against the limits.
	enforceEvery = 3 * time.Second
	// tooLargeFor is for how long the reads of a resource pass after its store was stopped, or not filled, for
	// want of memory.
	tooLargeFor = 10 * time.Minute
)

// Limits bound the cached resources and their memory.
type Limits struct {
	// Bytes is about how much memory all stores together may take, histories included; 0 means no
	// limit.
	Bytes int64
	// Idle is for how long a store without readers is kept; required.
	Idle time.Duration
}

// room is the memory that all stores share. The charge of a store follows its memory: first nothing but
// storeOverhead, during the fill the bytes read, then its measured size.
type room struct {
	limit   int64 // 0 means none
	idle    time.Duration
	log     *zap.Logger
	entries *entries

	mu   sync.Mutex // guards used, and charged and evicted of all entries
	used int64
}

// total returns the charges of all stores.
func (m *room) total() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// begin charges a new entry for its overhead. Stores are not stopped for it before it is known to
// exist, so that the room is exceeded by a part at most.
func (m *room) begin(e *entry) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limit > 0 && m.used+storeOverhead > m.limit+m.limit/beginPart {
		return false
	}
	m.charge(e, storeOverhead)
	return true
}

// charge changes the charge of an entry. The caller must hold mu.
func (m *room) charge(e *entry, bytes int64) {
	if e.evicted {
		bytes = 0
	}
	m.used += bytes - e.charged
	e.charged = bytes
}

// measure charges an entry for the size of its store, and a nil store for nothing.
func (m *room) measure(e *entry, c *CachedResource) {
	bytes := int64(0)
	if c != nil {
		s := c.Store.Stats()
		bytes = storeOverhead + s.Bytes + s.HistoryBytes
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.charge(e, bytes)
}

// usage is an entry and its use.
type usage struct {
	*entry
	watches int
	read    int64 // UnixNano
}

// usages returns the entries, those first that are used least: with the fewest open watches, then by the last read.
func (m *room) usages() (all []usage) {
	for _, e := range m.entries.all() {
		u := usage{entry: e, read: e.used.Load()}
		if c := e.current.Load(); c != nil {
			u.watches = c.Store.Stats().Cursors
		}
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b usage) int { return cmp.Or(cmp.Compare(a.watches, b.watches), cmp.Compare(a.read, b.read)) })
	return all
}

// claim charges an entry so many bytes. If there is no room, it stops stores that nobody uses; if that is not
// enough, it returns false and changes nothing.
func (m *room) claim(e *entry, bytes int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if missing := m.used + bytes - e.charged - m.limit; m.limit > 0 && bytes > e.charged && missing > 0 {
		unused := slices.DeleteFunc(m.usages(), func(u usage) bool {
			return u.entry == e || u.watches > 0 || time.Since(time.Unix(0, u.read)) < unusedAfter
		})
		if !m.makeRoom(unused, missing) {
			return false
		}
	}
	m.charge(e, bytes)
	return !e.evicted
}

// makeRoom stops the first of some stores, until so many bytes are free. It returns false and stops none if all of them
// are not enough. The caller must hold mu.
func (m *room) makeRoom(stores []usage, missing int64) bool {
	n := 0
	for ; missing > 0 && n < len(stores); n++ {
		missing -= stores[n].charged
	}
	if missing > 0 {
		return false
	}
	for _, u := range stores[:n] {
		m.log.Warn("store is stopped", zap.String("resource", name(u.gvr)), zap.String("reason", StoresTooLarge),
			zap.Int64("bytes", u.charged), zap.Int64("all_bytes", m.used), zap.Int64("limit_bytes", m.limit))
		m.giveUp(u.entry)
	}
	return true
}

// giveUp ends an entry for want of memory. The caller must hold mu.
func (m *room) giveUp(e *entry) {
	m.charge(e, 0)
	e.evicted = true
	e.tooLarge.Store(true)
	e.stop()
}

// refuse gives up the fill of an entry for which there is no room.
func (m *room) refuse(e *entry, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.evicted {
		return
	}
	e.log.Warn("store is not filled, because there is no room", zap.Int64("bytes", bytes),
		zap.Int64("all_bytes", m.used), zap.Int64("limit_bytes", m.limit))
	m.giveUp(e)
}

// claimFill claims the room of a fill, as far as it can be known before it begins. listed is how long a list of
// all objects would be if all were as long as the first.
func (m *room) claimFill(e *entry, listed int64) bool {
	need := storeOverhead + listed/firstObject
	e.read, e.claimed, e.objects = storeOverhead, need, 0
	if !m.claim(e, need) {
		m.refuse(e, need)
		return false
	}
	return true
}

// reads counts an object that a fill has read. A fill that turns out to be too large is given up.
func (m *room) reads(e *entry, bytes int64) {
	e.read += bytes
	e.objects++
	if e.read <= e.claimed {
		return
	}
	for _, e.claimed = range []int64{e.read + grown, e.read} {
		if m.claim(e, e.claimed) {
			return
		}
	}
	m.refuse(e, e.claimed)
}

// enforce stops the stores that are idle and then, as long as all stores together are too large, those that
// are used least.
func (m *room) enforce(now time.Time) {
	for _, e := range m.entries.all() {
		c := e.current.Load()
		if e.idle(c, now, m.idle) {
			m.log.Info("store is stopped", zap.String("resource", name(e.gvr)), zap.String("reason", "idle"))
			m.measure(e, nil)
			e.stop()
		} else if c != nil {
			m.measure(e, c)
		}
	}
	all := m.usages()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limit > 0 {
		m.makeRoom(all, m.used-m.limit)
	}
}

// idle reports whether the store has neither open watches nor been read for so long.
func (e *entry) idle(c *CachedResource, now time.Time, limit time.Duration) bool {
	return now.Sub(time.Unix(0, e.used.Load())) > limit && !e.tooLarge.Load() && (c == nil || c.Store.Stats().Cursors == 0)
}

// Memory returns about the bytes of the objects of all stores, and of objects that only their histories hold.
func (r *Registry) Memory() (objects, history int64) {
	for _, e := range r.entries.all() {
		if c := e.current.Load(); c != nil {
			s := c.Store.Stats()
			objects, history = objects+s.Bytes, history+s.HistoryBytes
		}
	}
	return objects, history
}
