package cache

// subscription is the part of the history that concerns one scope, shared by the cursors of that
// scope. The subscription of the whole resource exists as long as the store, others as long as they
// have cursors. The store's mutex guards all fields except the notifier.
type subscription struct {
	notifier // broadcasts on each event of the scope, and when the store ends

	history      history
	completeFrom uint64 // history has all events of the scope after this position
	cursors      int
}

// Watch returns a cursor of the events of scope after version, which may lie in the future. Of several
// events at version, it delivers all but the first: the reader may have a state between them. It
// returns ErrGone if version is older than the history, unless AddPrehistory has told that nothing
// happened since, and ErrClosed if the store has ended.
func (s *Store) Watch(scope Scope, version uint64) (*Cursor, error) {
	past := s.pastOf(scope, version)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if version < s.firstWatchable() && !s.quietSince(scope, version) {
		return nil, ErrGone
	}
	start := s.startAfter(version)
	return &Cursor{store: s, sub: s.subscribe(scope, start, past), scope: scope, position: start, version: version}, nil
}

// startAfter returns the position after which the events begin that a reader of a state at version may
// lack.
func (s *Store) startAfter(version uint64) uint64 {
	h := &s.all.history
	if i := h.indexSince(version); i < h.n {
		return h.at(i).position - 1
	}
	return s.position
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
	c := &Cursor{store: s, sub: s.subscribe(scope, s.position, past{}), scope: scope, position: s.position}
	if len(s.confirmed) > 0 {
		c.version = now.Version // now is confirmed: events up to its version may yet arrive
	}
	return now, c, nil
}

// subscribe returns the subscription of scope, counts one more cursor in it, and makes it complete
// from position start. past holds the events of scope after start, except the latest.
func (s *Store) subscribe(scope Scope, start uint64, past past) *subscription {
	if scope == (Scope{}) {
		s.all.cursors++
		return s.all
	}
	sub := s.subscriptions[scope]
	if sub == nil {
		sub = &subscription{completeFrom: s.position}
		s.subscriptions[scope] = sub
	}
	if start < sub.completeFrom {
		s.backfill(sub, scope, start, past)
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

func (s *Store) indexField() int {
	if s.options.Index == nil {
		return 0
	}
	return *s.options.Index
}
