package flowcontrol

import (
	"time"

	"sluice/cache"
)

// held is what one response holds.
type held struct {
	*heldState // nil if it holds no state
	reader     *Reader
	buffers    int64
}

// bytes returns how much the response holds, as if it were the only one.
func (h *held) bytes() int64 {
	n := h.buffers
	if h.heldState != nil {
		n += h.store.Held(h.snapshot)
	}
	return n
}

// holding is what some responses hold together: what several of them share counts once.
type holding struct {
	of      map[*held]struct{}
	buffers int64
	states  map[*cache.Store]*states
}

// states are the states of one store that responses hold.
type states struct {
	snapshots map[*held]*cache.Snapshot
	bytes     int64
	stale     bool // bytes must be calculated
}

func newHolding() *holding {
	return &holding{of: map[*held]struct{}{}, states: map[*cache.Store]*states{}}
}

func (h *holding) add(x *held) {
	h.of[x] = struct{}{}
	h.buffers += x.buffers
	if x.heldState == nil {
		return
	}
	s := h.states[x.store]
	if s == nil {
		s = &states{snapshots: map[*held]*cache.Snapshot{}}
		h.states[x.store] = s
	}
	s.snapshots[x], s.stale = x.snapshot, true
}

func (h *holding) remove(x *held) {
	delete(h.of, x)
	h.buffers -= x.buffers
	if x.heldState != nil {
		s := h.states[x.store]
		delete(s.snapshots, x)
		s.stale = true
	}
}

// bytes returns how much the responses hold together.
func (h *holding) bytes() int64 {
	n := h.buffers
	for store, s := range h.states {
		if s.stale {
			snapshots := make([]*cache.Snapshot, 0, len(s.snapshots))
			for _, snapshot := range s.snapshots {
				snapshots = append(snapshots, snapshot)
			}
			s.bytes, s.stale = store.Held(snapshots...), false
		}
		n += s.bytes
	}
	return n
}

// largest returns what holds the most, of equal ones the oldest, among the responses that are not spared;
// nil if there are none.
func (h *holding) largest(now time.Time) *held {
	var most *held
	var bytes int64
	for x := range h.of {
		if now.Sub(x.reader.since) < spared {
			continue
		}
		n := x.bytes()
		if n > 0 && (most == nil || n > bytes || n == bytes && x.reader.since.Before(most.reader.since)) {
			most, bytes = x, n
		}
	}
	return most
}
