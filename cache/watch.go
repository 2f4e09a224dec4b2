package cache

// AddPrehistory records that the events after version from, up to until, are those of changes. Watches can
// then begin at versions from from on after which their scope had no event before the history. It does nothing
// if the store has forgotten what happened after until, or if the changes would take too much memory; Knows
// tells.
func (s *Store) AddPrehistory(from, until uint64, changes []Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prehistory.canExtend(until) {
		s.prehistory.extend(from, changes)
	}
}

// CanAddPrehistory reports whether AddPrehistory can still add changes up to version.
func (s *Store) CanAddPrehistory(version uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.prehistory.canExtend(version)
}

// Knows reports whether the store knows which scopes had events after version.
func (s *Store) Knows(version uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.prehistory.knows(version)
}

// Watch returns a cursor of the events of scope after version, which may lie in the future. Of several
// events at version, it delivers all but the first: the reader may have a state between them. It
// returns ErrGone if version is older than the history, unless it is known that the scope had no event since
// before it, and ErrClosed if the store has ended.
func (s *Store) Watch(scope Scope, version uint64) (*Cursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if version < s.firstWatchable() && !s.prehistory.quietSince(scope, version) {
		return nil, ErrGone
	}
	return &Cursor{store: s, sub: s.subscribe(scope), scope: scope, position: s.startAfter(version), version: version}, nil
}

// ListAndWatch returns the newest state and a cursor of the events of scope that follow it. It
// returns ErrClosed if the store has ended.
func (s *Store) ListAndWatch(scope Scope) (*Snapshot, *Cursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	now := s.snapshot.Load()
	c := &Cursor{store: s, sub: s.subscribe(scope), scope: scope, position: s.position}
	if s.ledger.last() != nil {
		c.version = now.Version // now is confirmed: events up to its version may yet arrive
	}
	return now, c, nil
}

// subscribe returns the subscription of scope, and counts one more cursor in it.
func (s *Store) subscribe(scope Scope) *subscription {
	if scope == (Scope{}) {
		s.all.cursors++
		return s.all
	}
	sub := s.subscriptions[scope]
	if sub == nil {
		sub = &subscription{from: s.position}
		s.subscriptions[scope] = sub
	}
	sub.cursors++
	return sub
}

// unsubscribe counts one cursor less.
func (s *Store) unsubscribe(scope Scope, sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub.cursors--
	if sub.cursors == 0 && scope != (Scope{}) {
		delete(s.subscriptions, scope)
	}
}

// Close releases the cursor.
func (c *Cursor) Close() { c.store.unsubscribe(c.scope, c.sub) }
