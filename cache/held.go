package cache

import "math"

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
