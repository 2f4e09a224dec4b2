package cache

import "math"

// Stats describes a store for metrics.
type Stats struct {
	Objects      int    // after the newest event
	Version      uint64 // up to which the history is complete
	DataBytes    int64  // sum of the lengths of Object.Data
	Bytes        int64  // approximate memory of the objects
	Events       int    // in the history
	HistoryBytes int64  // approximate memory that the history keeps alive
	Cursors      int    // open ones
}

// Stats returns the present figures.
func (s *Store) Stats() Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := s.applied.Load()
	return Stats{
		Objects:      now.Len(),
		Version:      now.Version,
		DataBytes:    now.Bytes(),
		Bytes:        now.Memory(),
		Events:       s.history.all.events.n,
		HistoryBytes: s.history.memory(),
		Cursors:      s.history.cursors(),
	}
}

// Held returns about how many bytes of memory some snapshots of the store keep alive together that the
// store itself does not count: objects that are neither in its newest state nor in its history. A store
// that has ended is kept alive by its snapshots alone, with its history.
func (s *Store) Held(snapshots ...*Snapshot) int64 {
	if len(snapshots) == 0 {
		return 0
	}
	s.mu.RLock()
	newest, oldest, history, closed := s.applied.Load(), s.history.oldestState.replaced, s.history.memory(), s.closed
	s.mu.RUnlock()
	// A snapshot holds at most its own objects, and all of them together at most the objects that were replaced
	// since the first.
	var apart int64
	first := int64(math.MaxInt64)
	for _, held := range snapshots {
		apart += min(held.Memory(), max(0, oldest-held.replaced))
		first = min(first, held.replaced)
	}
	together := min(apart, max(0, oldest-first))
	if closed {
		together += newest.Memory() + history
	}
	return together
}
