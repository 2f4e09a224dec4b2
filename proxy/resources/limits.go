package resources

import (
	"time"

	"go.uber.org/zap"
)

const (
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

// enforce stops the stores that are idle and then, as long as all stores together are too large, those that
// are worth least.
func (r *Registry) enforce(now time.Time) {
	for _, e := range r.entries.all() {
		if e.idle(now, r.options.Limits.Idle) {
			r.options.Log.Info("store is stopped", zap.String("resource", name(e.gvr)), zap.String("reason", "idle"))
			r.stopped.count("idle")
			r.release(e)
			e.stop()
			continue
		}
		r.measure(e)
	}
	r.evictBeyond(now)
	r.forget(now)
}

// idle reports whether the store has neither open watches nor been read for so long.
func (e *entry) idle(now time.Time, limit time.Duration) bool {
	if now.Sub(time.Unix(0, e.used.Load())) <= limit || e.tooLarge.Load() {
		return false
	}
	c := e.current.Load()
	return c == nil || c.Store.Stats().Cursors == 0
}

// evictBeyond stops stores until those that are left have room.
func (r *Registry) evictBeyond(now time.Time) {
	m := &r.room
	entries := r.entries.all()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limit == 0 || m.used <= m.limit {
		return
	}
	victims, _ := leastUseful(usages(entries, now), m.used-m.limit)
	for _, v := range victims {
		r.evict(v, now)
	}
}

// forget forgets the demand for resources that have no store and that nobody has read for a time.
func (r *Registry) forget(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gvr, d := range r.demands {
		if r.entries.get(gvr) == nil && d.forgotten(now, r.options.Limits.Idle) {
			delete(r.demands, gvr)
		}
	}
}
