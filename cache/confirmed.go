package cache

import "slices"

// maxConfirmed bounds the confirmed states of a store. Readers of older ones, such as the next page
// of a list, must ask the apiserver.
const maxConfirmed = 1024

// confirmedState is a state that a roll call has shown to be the apiserver's at a version which the
// store's own watch has not reached. It says nothing about the events up to that version.
type confirmedState struct {
	Snapshot
	position uint64 // of the store's newest event at that time
}

// ConfirmState applies a roll call: if the present state, or one of the next, is the listed one, it
// becomes readable under the version of the list. The history is not complete up to this version
// then: that takes the store's own watch. It reports whether a read of this version can be answered.
func (s *Store) ConfirmState(r *RollCall) bool {
	s.mu.RLock()
	base, position := s.applied.Load(), s.position
	s.mu.RUnlock()
	c := &comparison{rollCall: r, differences: r.differences(base)} // takes long: without the lock
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.all.history
	if s.closed || position < h.trimmed {
		return false
	}
	for i := h.indexAfter(position); i < h.n; i++ {
		c.apply(h.at(i))
	}
	s.comparison = c
	s.settle()
	return s.snapshot.Load().Version >= r.Version
}

// settle publishes the present state under the version of the roll call if they are equal.
func (s *Store) settle() {
	c := s.comparison
	if c == nil {
		return
	}
	now := s.applied.Load()
	reached := now.Version >= c.rollCall.Version
	if !reached && c.differences > 0 {
		return
	}
	s.comparison = nil
	if reached || c.rollCall.Version <= s.snapshot.Load().Version {
		return
	}
	if len(s.confirmed) == maxConfirmed {
		s.confirmed = slices.Delete(s.confirmed, 0, 1)
	}
	confirmed := confirmedState{Snapshot{Version: c.rollCall.Version, state: now.state}, s.position}
	s.confirmed = append(s.confirmed, confirmed)
	s.snapshot.Store(&confirmed.Snapshot)
	s.changed.broadcast()
}

// dropConfirmed removes the confirmed states that the history covers, which is complete up to version.
func (s *Store) dropConfirmed(version uint64) {
	i := 0
	for i < len(s.confirmed) && s.confirmed[i].Version <= version {
		i++
	}
	if i > 0 {
		s.confirmed = slices.Delete(s.confirmed, 0, i)
	}
}

// confirmedAt returns the state that was confirmed at version, or ErrAhead.
func (s *Store) confirmedAt(version uint64) (*Snapshot, error) {
	for i := range s.confirmed {
		if s.confirmed[i].Version == version {
			return &Snapshot{Version: version, state: s.confirmed[i].state}, nil
		}
	}
	return nil, ErrAhead
}

// SkipToConfirmed ends the initial events of a streaming list. If the reader has read every event
// and the state that it has is confirmed, the cursor from now on skips the events up to the
// confirmed version, which SkipToConfirmed returns; otherwise it returns 0.
func (c *Cursor) SkipToConfirmed() (version uint64) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := len(s.confirmed)
	if n == 0 || c.position != s.position || s.confirmed[n-1].position != s.position {
		return 0
	}
	c.version = max(c.version, s.confirmed[n-1].Version)
	return c.version
}
