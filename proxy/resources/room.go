package resources

import (
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// storeOverhead is the estimated memory of a store besides its objects, in bytes: its watch at the apiserver,
	// buffers and goroutines.
	storeOverhead = 128 << 10
	// grown is how much a fill reads between two looks at the room, in bytes.
	grown = 256 << 10
	// margin is how many times as much a store must be worth as those that are stopped for it. Two stores that are
	// worth about the same thus do not stop each other by turns.
	margin = 2
	// beginPart is the part of the room by which it is exceeded at most while resources are described that readers
	// of parts have read. The others may exceed it twice as far, so that they are not held back.
	beginPart = 8
	// stoppedLately is for how long a store that was stopped for want of memory comes back only if a tenth of
	// the room stays free.
	stoppedLately = time.Hour
	// firstObject divides the estimate of a fill, which is the number of objects times the first one: the first
	// may be so many times as large as the others.
	firstObject = 4
)

// room is the memory that all stores share. The charge of a store follows its memory: first nothing but
// storeOverhead, during the fill the bytes read, then its measured size.
type room struct {
	limit int64 // 0 means none

	mu   sync.Mutex // guards used, and charged, displaced and evicted of all entries
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
func (m *room) begin(e *entry, reader Reader) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	beyond := m.limit / beginPart
	if reader.Whole {
		beyond *= 2
	}
	if m.limit > 0 && m.used+storeOverhead > m.limit+beyond {
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

// usage is an entry and its worth.
type usage struct {
	*entry
	bytes int64
	worth float64
	used  time.Time
}

// claim charges an entry so many bytes. If there is no room, it stops the stores that are worth least, provided
// that together they are worth much less than the entry; else it returns false and changes nothing.
func (r *Registry) claim(e *entry, bytes int64, now time.Time) bool {
	entries, m := r.entries.all(), &r.room // Registry.mu must not be taken while mu is held
	m.mu.Lock()
	defer m.mu.Unlock()
	if missing := m.missing(e, bytes, now); missing > 0 && !r.displace(e, entries, missing, now) {
		return false
	}
	m.charge(e, bytes)
	return !e.evicted
}

// missing returns how much room is missing for an entry to be charged so many bytes. The caller must hold mu.
func (m *room) missing(e *entry, bytes int64, now time.Time) int64 {
	if m.limit == 0 || bytes <= e.charged || e.evicted {
		return 0
	}
	limit := m.limit
	if e.demand.before(now) > 0 {
		limit -= limit / 10
	}
	return m.used + bytes - e.charged - limit
}

// displace stops stores for an entry. It returns false and changes nothing if they are worth too much. The caller
// must hold room.mu.
func (r *Registry) displace(e *entry, entries map[schema.GroupVersionResource]*entry, missing int64, now time.Time) bool {
	entries[e.gvr] = e
	all := usages(entries, now)
	own := slices.IndexFunc(all, func(u usage) bool { return u.entry == e })
	worth := all[own].worth
	victims, lost := leastUseful(slices.Delete(all, own, own+1), missing)
	if victims == nil || (e.displaced+lost)*margin > worth {
		return false
	}
	e.displaced += lost
	for _, v := range victims {
		r.evict(v, now)
	}
	return true
}

// leastUseful returns those of the stores whose end frees so much memory at the least loss, and that loss; nil
// if all are not enough.
func leastUseful(all []usage, missing int64) (victims []usage, lost float64) {
	// A store that is larger than the missing memory frees no more for this purpose.
	perByte := func(u usage) float64 { return u.worth / float64(min(u.bytes, missing)) }
	for missing > 0 {
		best := -1
		for i, u := range all {
			if u.bytes == 0 {
				continue
			}
			if best < 0 || perByte(u) < perByte(all[best]) || perByte(u) == perByte(all[best]) && u.used.Before(all[best].used) {
				best = i
			}
		}
		if best < 0 {
			return nil, 0
		}
		u := all[best]
		victims, lost, missing = append(victims, u), lost+u.worth, missing-u.bytes
		all = slices.Delete(all, best, best+1)
	}
	return victims, lost
}

// evict stops a store for want of memory. The caller must hold room.mu.
func (r *Registry) evict(u usage, now time.Time) {
	r.options.Log.Warn("store is stopped", zap.String("resource", name(u.gvr)), zap.String("reason", StoresTooLarge),
		zap.Int64("bytes", u.bytes), zap.Int64("all_bytes", r.room.used), zap.Int64("limit_bytes", r.room.limit))
	u.demand.remember(u.bytes, now)
	r.giveUp(u.entry)
}

// giveUp ends an entry for want of memory. The caller must hold room.mu.
func (r *Registry) giveUp(e *entry) {
	r.stopped.count(StoresTooLarge)
	r.room.charge(e, 0)
	e.evicted = true
	e.tooLarge.Store(true)
	e.stop()
}

// refuse gives up the fill of an entry for which there is no room.
func (r *Registry) refuse(e *entry, bytes int64) {
	r.room.mu.Lock()
	defer r.room.mu.Unlock()
	if e.evicted {
		return
	}
	e.log.Warn("store is not filled, because there is no room", zap.Int64("bytes", bytes),
		zap.Int64("all_bytes", r.room.used), zap.Int64("limit_bytes", r.room.limit))
	r.giveUp(e)
}

// claimFill claims the room of a fill, as far as it can be known before it begins. listed is how long a list of
// all objects would be if all were as long as the first.
func (r *Registry) claimFill(e *entry, listed int64) bool {
	now := time.Now()
	need := max(e.demand.before(now), storeOverhead+listed/firstObject)
	e.read, e.claimed, e.objects = storeOverhead, need, 0
	r.room.mu.Lock()
	e.displaced = 0
	r.room.mu.Unlock()
	if !r.claim(e, need, now) {
		r.refuse(e, need)
		return false
	}
	return true
}

// reads counts an object that a fill has read. A fill that turns out to be too large is given up.
func (r *Registry) reads(e *entry, bytes int64) {
	e.read += bytes
	e.objects++
	if e.read <= e.claimed {
		return
	}
	now := time.Now()
	for _, e.claimed = range []int64{e.read + grown, e.read} {
		if r.claim(e, e.claimed, now) {
			return
		}
	}
	e.demand.remember(2*e.read, now) // what it would have become is not known
	r.refuse(e, e.claimed)
}

// measure charges an entry for the size of its store.
func (r *Registry) measure(e *entry) {
	c := e.current.Load()
	if c == nil {
		return
	}
	s := c.Store.Stats()
	r.room.mu.Lock()
	defer r.room.mu.Unlock()
	r.room.charge(e, storeOverhead+s.Bytes+s.HistoryBytes)
}

// release charges an entry nothing any more.
func (r *Registry) release(e *entry) {
	r.room.mu.Lock()
	defer r.room.mu.Unlock()
	r.room.charge(e, 0)
}

// usages returns the sizes and the worth of stores. The caller must hold room.mu.
func usages(entries map[schema.GroupVersionResource]*entry, now time.Time) []usage {
	var all []usage
	var readings [][]reading
	resources := map[string]float64{} // that each user reads
	for _, e := range entries {
		watched := false
		if c := e.current.Load(); c != nil {
			watched = c.Store.Stats().Cursors > 0
		}
		readers := e.demand.readings(now, watched)
		for i := range readers {
			resources[readers[i].user] += readers[i].part
			if watched {
				readers[i].part *= 2 // the reads of watches are saved all the time
			}
		}
		all = append(all, usage{entry: e, bytes: e.charged, used: time.Unix(0, e.used.Load())})
		readings = append(readings, readers)
	}
	for i := range all {
		for _, reader := range readings[i] {
			all[i].worth += reader.worth(resources[reader.user])
		}
	}
	return all
}
