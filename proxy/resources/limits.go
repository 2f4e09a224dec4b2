package resources

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
)

const (
	// enforceEvery is how often the stores are measured against the limits.
	enforceEvery = 30 * time.Second
	// tooLargeFor is for how long the reads of a resource pass after its store was stopped because
	// all stores were too large.
	tooLargeFor = 10 * time.Minute
)

// Limits bound what is cached. Zero values mean the defaults.
type Limits struct {
	// Resources is how many resources are cached at most; 0 means 500.
	Resources int
	// PerUser is how many of them the reads of one user may start; 0 means 250.
	PerUser int
	// PerPartialReader is how many of these a user may start by reads of a part of a resource, until
	// somebody reads the whole resource; 0 means 25. All such readers together may start half of
	// Resources.
	PerPartialReader int
	// Bytes is about how much memory all stores together may take, histories included; 0 means no
	// limit.
	Bytes int64
	// Idle is for how long a store without readers is kept; 0 means an hour.
	Idle time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Resources == 0 {
		l.Resources = 500
	}
	if l.PerUser == 0 {
		l.PerUser = 250
	}
	if l.PerPartialReader == 0 {
		l.PerPartialReader = 25
	}
	if l.Idle == 0 {
		l.Idle = time.Hour
	}
	return l
}

// enforceLimits stops stores that are idle or too large, until the context ends.
func (r *Registry) enforceLimits(ctx context.Context) {
	t := time.NewTicker(enforceEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			r.enforce(now)
		}
	}
}

// Memory returns about how many bytes the objects of all stores take, and what only their histories hold.
func (r *Registry) Memory() (objects, history int64) {
	for _, e := range r.all() {
		if c := e.current.Load(); c != nil {
			s := c.Store.Stats()
			objects, history = objects+s.Bytes, history+s.HistoryBytes
		}
	}
	return objects, history
}

// usage is what an entry uses of the limits.
type usage struct {
	*entry
	bytes   int64
	watched bool // it has open watches
	used    time.Time
}

func (r *Registry) usages() []usage {
	var all []usage
	for _, e := range r.all() {
		u := usage{entry: e, used: time.Unix(0, e.used.Load())}
		if c := e.current.Load(); c != nil {
			s := c.Store.Stats()
			u.bytes, u.watched = s.Bytes+s.HistoryBytes, s.Cursors > 0
		}
		all = append(all, u)
	}
	return all
}

// compare orders the stores without open watches first, and these by their last use.
func (u usage) compare(v usage) int {
	if u.watched != v.watched {
		if v.watched {
			return -1
		}
		return 1
	}
	return u.used.Compare(v.used)
}

// enforce stops the stores that are idle and then, as long as all stores together are too large, those
// that were not used for longest, the ones without open watches first.
func (r *Registry) enforce(now time.Time) {
	all := r.usages()
	slices.SortFunc(all, usage.compare)
	var total int64
	for _, u := range all {
		total += u.bytes
	}
	limits := r.options.Limits
	for _, u := range all {
		switch {
		case !u.watched && now.Sub(u.used) > limits.Idle:
			r.options.Log.Info("store is stopped", zap.String("resource", name(u.gvr)), zap.String("reason", "idle"))
		case limits.Bytes > 0 && total > limits.Bytes && u.bytes > 0:
			r.options.Log.Warn("store is stopped", zap.String("resource", name(u.gvr)), zap.String("reason", StoresTooLarge),
				zap.Int64("bytes", u.bytes), zap.Int64("all_bytes", total), zap.Int64("limit_bytes", limits.Bytes))
			u.tooLarge.Store(true)
		default:
			continue
		}
		total -= u.bytes
		u.stop()
	}
}
