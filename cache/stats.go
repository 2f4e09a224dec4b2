package cache

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
		Events:       s.history.all.events.n + len(s.history.archive.events),
		HistoryBytes: s.history.memory(),
		Cursors:      s.history.cursors(),
	}
}
