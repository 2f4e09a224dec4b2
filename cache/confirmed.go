package cache

import "fmt"

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
	if err := s.contradiction(p.Version); err != nil {
		return false, err
	}
	s.raise(p.Version)
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
	base, c := s.applied.Load(), &comparison{inventory: r, position: s.position}
	if c.past = base.Reaches(r.Version); c.past {
		var err error
		if base, err = s.at(r.Version); err != nil {
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
	r, h := c.inventory, &s.all.history
	if c.past {
		return true, s.verdict(c)
	}
	if s.closed || c.position < h.trimmed {
		return false, nil
	}
	for i := h.indexAfter(c.position); i < h.n && h.at(i).RV <= r.Version; i++ {
		c.apply(h.at(i))
	}
	if s.applied.Load().Reaches(r.Version) {
		return true, s.verdict(c)
	}
	switch {
	case s.ledger.compared == nil || s.ledger.compared.inventory.Version <= r.Version:
		s.ledger.compared = c
		s.settle()
	case c.differences == 0: // a newer inventory is still to be compared
		s.confirm(r)
	}
	return s.snapshot.Load().Reaches(r.Version), nil
}

// verdict returns an error if a state that has every event up to the version of an inventory differs
// from the list. It judges nothing at the version of a deletion: others may follow at this version.
func (s *Store) verdict(c *comparison) error {
	version, h := c.inventory.Version, &s.all.history
	if c.differences == 0 {
		s.trustInventory(c.inventory)
		return nil
	}
	if newest := h.indexNewer(version) - 1; newest >= 0 && h.at(newest).RV == version && h.at(newest).Type == Deleted {
		return nil
	}
	return fmt.Errorf("%d objects differ from the apiserver's at version %d: %w", c.differences, version, ErrDiverged)
}

// contradiction returns an error if the store differs from its newest inventory and has, or is about
// to have, every event up to version; if the store is right, it drops the inventory. The caller must
// hold mu.
func (s *Store) contradiction(version uint64) error {
	if s.ledger.compared == nil || version < s.ledger.compared.inventory.Version {
		return nil
	}
	err := s.verdict(s.ledger.compared)
	if err == nil {
		s.ledger.compared = nil
	}
	return err
}

// settle confirms the present state once it equals the inventory.
func (s *Store) settle() {
	if c := s.ledger.compared; c.differences == 0 {
		s.ledger.compared = nil
		s.confirm(c.inventory)
	}
}

// confirm makes the present state readable at the version of an inventory that equals it. The caller
// must hold mu.
func (s *Store) confirm(r *Inventory) {
	now, version := s.applied.Load(), r.Version
	defer s.trustInventory(r)
	confirmed := confirmedState{Snapshot{Version: version, state: now.state}, s.position}
	if version <= now.Version || !s.ledger.confirm(confirmed) {
		return
	}
	if version > s.snapshot.Load().Version {
		s.snapshot.Store(&confirmed.Snapshot)
	}
	s.changed.broadcast()
}

// SkipToInventory is SkipToConfirmed with an inventory of the cursor's own scope, which proves nothing to
// other readers.
func (c *Cursor) SkipToInventory(r *Inventory) (version uint64) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c.position != s.position || c.scope != r.Scope || !r.Matches(s.applied.Load()) {
		return 0
	}
	c.version = max(c.version, r.Version)
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
	if last == nil || c.position != s.position || last.position != s.position {
		return 0
	}
	c.version = max(c.version, last.Version)
	return c.version
}
