package cache

// Silence is a proof by a second watch: the apiserver has no event of the resource in (Last, Version].
type Silence struct {
	Last    uint64 // the version of the last event of the watch, or where the watch began
	Version uint64 // of the bookmark behind it
}

// ConfirmComplete applies a proof by a second watch: if the store is complete up to the last event of
// that watch, it is also complete up to its bookmark. It reports whether the store is. An event that
// contradicts the proof makes Apply return ErrDiverged; a bookmark that arrives late does not
// contradict it. The error wraps ErrDiverged if the state then contradicts an inventory.
func (s *Store) ConfirmComplete(p Silence) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.applied.Load()
	if s.closed || s.Doubtful() || now.Version < p.Last {
		return false, nil
	}
	if err := s.ledger.contradiction(p.Version, &s.history); err != nil {
		return false, err
	}
	s.publish(now.state, p.Version)
	return true, nil
}

// ConfirmState applies an inventory: if the present state, or one of the next, is the listed one, it
// becomes readable under the version of the list. The history is not complete up to this version
// then: that takes the store's own watch. It reports whether a read of this version can be answered.
//
// A store that is complete up to the version of the list must show the listed state there. If it
// does not, now or once its watch gets there, ConfirmState, Apply, ApplyBookmark or ConfirmComplete
// returns an error wrapping ErrDiverged: the apiserver has another history, as after a restore of
// etcd from a backup.
func (s *Store) ConfirmState(r *Inventory) (bool, error) {
	s.mu.RLock()
	base, c := s.applied.Load(), &comparison{inventory: r, position: s.history.position}
	if c.past = base.Reaches(r.Version); c.past {
		var err error
		if base, err = s.history.at(r.Version); err != nil {
			s.mu.RUnlock()
			return true, nil // older than the history
		}
	}
	s.mu.RUnlock()
	c.differences = r.differences(base) // takes long: without the lock
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conclude(c)
}

// conclude ends ConfirmState: events may have been applied during the comparison. The caller must hold mu.
func (s *Store) conclude(c *comparison) (bool, error) {
	r, h := c.inventory, &s.history.all.events
	if c.past {
		return true, s.ledger.verdict(c, &s.history)
	}
	if s.closed || c.position < h.trimmed {
		return false, nil
	}
	for i := h.indexAfter(c.position); i < h.n && h.at(i).RV <= r.Version; i++ {
		c.apply(h.at(i))
	}
	if s.applied.Load().Reaches(r.Version) {
		return true, s.ledger.verdict(c, &s.history)
	}
	if s.ledger.compared == nil || s.ledger.compared.inventory.Version <= r.Version {
		s.ledger.compared = c
	}
	s.settle(c)
	return s.snapshot.Load().Reaches(r.Version), nil
}

// settle makes the present state readable at the version of an inventory once they are equal. The caller must hold mu.
func (s *Store) settle(c *comparison) {
	if c.differences != 0 {
		return
	}
	if s.ledger.compared == c {
		s.ledger.compared = nil
	}
	now, version := s.applied.Load(), c.inventory.Version
	defer s.ledger.trustInventory(c.inventory)
	confirmed := confirmedState{Snapshot{Version: version, state: now.state}, s.history.position}
	if version <= now.Version || !s.ledger.confirm(confirmed) {
		return
	}
	if version > s.snapshot.Load().Version {
		s.snapshot.Store(&confirmed.Snapshot)
	}
	s.ledger.changed.broadcast()
}

// SkipToInventory is SkipToConfirmed with an inventory of the cursor's own scope, which proves nothing to
// other readers.
func (c *Cursor) SkipToInventory(r *Inventory) (version uint64) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c.position != s.history.position || c.scope != r.Scope || !r.Matches(s.applied.Load()) {
		return 0
	}
	c.version = max(c.version, r.Version)
	for last := s.shown.Load(); last < c.version && !s.shown.CompareAndSwap(last, c.version); last = s.shown.Load() {
	}
	return c.version
}

// SkipToConfirmed ends the initial events of a streaming list. If the reader has read every event
// and the state that it has is confirmed, the cursor from now on skips the events up to the
// confirmed version, which SkipToConfirmed returns; otherwise it returns 0.
func (c *Cursor) SkipToConfirmed() (version uint64) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	last := s.ledger.last()
	if last == nil || c.position != s.history.position || last.position != s.history.position {
		return 0
	}
	c.version = max(c.version, last.Version)
	return c.version
}
