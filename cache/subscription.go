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

// Watch returns a cursor of the events of scope after version, which may lie in the future. It
// returns ErrGone if version is older than the history, and ErrClosed if the store has ended.
func (s *Store) Watch(scope Scope, version uint64) (*Cursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if version < s.oldestVersion {
		return nil, ErrGone
	}
	start := s.position
	if h := &s.all.history; h.n > 0 {
		if i := h.indexNewer(version); i < h.n {
			start = h.at(i).position - 1
		}
	}
	return &Cursor{store: s, sub: s.subscribe(scope, start), scope: scope, position: start, version: version}, nil
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
	c := &Cursor{store: s, sub: s.subscribe(scope, s.position), scope: scope, position: s.position}
	if len(s.confirmed) > 0 {
		c.version = now.Version // now is confirmed: events up to its version may yet arrive
	}
	return now, c, nil
}

// subscribe returns the subscription of scope, counts one more cursor in it, and makes it complete
// from position start.
func (s *Store) subscribe(scope Scope, start uint64) *subscription {
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
		s.backfill(sub, scope, start)
	}
	sub.cursors++
	return sub
}

// backfill replaces the history of a subscription by the events of scope after position start.
func (s *Store) backfill(sub *subscription, scope Scope, start uint64) {
	h := history{trimmed: sub.history.trimmed}
	all := &s.all.history
	for i := all.indexAfter(start); i < all.n; i++ {
		if e := all.at(i); scope.concerns(e, s.indexField()) {
			h.push(e)
		}
	}
	sub.history, sub.completeFrom = h, start
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
