package resources

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
)

const (
	// limitsEvery is how often stores are held against the limits.
	limitsEvery = 30 * time.Second
	// refusedFor is how long a resource whose store was given up for its size
	// is passed.
	refusedFor = 10 * time.Minute
)

// Limits bound what is cached. Zero values mean the defaults.
type Limits struct {
	// Resources is the most that are cached; 0 means 500.
	Resources int
	// Bytes is about how much memory all stores together may take, histories
	// included; 0 means no limit.
	Bytes int64
	// Idle is how long a store is kept that nobody reads; 0 means an hour.
	Idle time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Resources == 0 {
		l.Resources = 500
	}
	if l.Idle == 0 {
		l.Idle = time.Hour
	}
	return l
}

// keepLimits stops feeds that are idle or too much, until the context ends.
func (m *Registry) keepLimits(ctx context.Context) {
	t := time.NewTicker(limitsEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			m.keep(now)
		}
	}
}

// holding is an entry with what counts for the limits.
type holding struct {
	*entry
	bytes   int64
	readers bool // open watches
	used    time.Time
}

func (m *Registry) holdings() []holding {
	var all []holding
	for _, e := range m.all() {
		h := holding{entry: e, used: time.Unix(0, e.used.Load())}
		if c := e.collection.Load(); c != nil {
			s := c.Store.Stats()
			h.bytes, h.readers = s.Bytes+s.HistoryBytes, s.Cursors > 0
		}
		all = append(all, h)
	}
	return all
}

// keep stops what is idle, and then, while all is too large, what was not used
// for longest, without open watches first.
func (m *Registry) keep(now time.Time) {
	all := m.holdings()
	limits := m.options.Limits
	slices.SortFunc(all, func(a, b holding) int {
		if a.readers != b.readers {
			if b.readers {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.used.UnixNano(), b.used.UnixNano())
	})
	var total int64
	for _, h := range all {
		total += h.bytes
	}
	for _, h := range all {
		switch {
		case !h.readers && now.Sub(h.used) > limits.Idle:
			m.options.Log.Info("store is stopped: nobody reads it", zap.String("resource", name(h.resource)))
		case limits.Bytes > 0 && total > limits.Bytes && h.bytes > 0:
			m.options.Log.Warn("store is stopped: all stores are too large", zap.String("resource", name(h.resource)),
				zap.Int64("bytes", h.bytes), zap.Int64("all_bytes", total), zap.Int64("limit_bytes", limits.Bytes))
			h.refused.Store(true)
		default:
			continue
		}
		total -= h.bytes
		h.stop()
	}
}
