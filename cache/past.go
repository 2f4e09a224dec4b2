package cache

// scanPiece is how many events are looked at under one lock. The scan of a whole history takes
// milliseconds, in which no event could be applied.
const scanPiece = 512

// past is the events of a scope in a part of the history of the whole resource: those with positions up to to.
type past struct {
	to     uint64
	events []*Event
}

// pastOf returns the events of scope above version, so that a new subscription finds them without a
// long scan under the write lock. It returns none if the subscription has them already. Events may be
// applied and trimmed during the scan.
func (s *Store) pastOf(scope Scope, version uint64) past {
	if scope == (Scope{}) {
		return past{}
	}
	s.mu.RLock()
	from := s.startAfter(version)
	p := past{to: from}
	until := s.position
	if sub := s.subscriptions[scope]; sub != nil && sub.completeFrom <= from {
		until = from
	}
	s.mu.RUnlock()
	for p.to < until {
		s.mu.RLock()
		s.scan(&p, scope)
		s.mu.RUnlock()
	}
	return p
}

// scan adds the events of scope among the next scanPiece of the history. The caller must hold mu.
func (s *Store) scan(p *past, scope Scope) {
	h := &s.all.history
	first := h.indexAfter(p.to)
	last := min(first+scanPiece, h.n)
	for i := first; i < last; i++ {
		if e := h.at(i); scope.concerns(e, s.indexField()) {
			p.events = append(p.events, e)
		}
	}
	if last == h.n {
		p.to = s.position
	} else {
		p.to = h.at(last - 1).position
	}
}

// backfill replaces the history of a subscription by the events of scope after position start, which p holds up to
// p.to. The first event that a version lacks moves forward only, so that p begins at start or before it, and start
// is never before what was trimmed meanwhile.
func (s *Store) backfill(sub *subscription, scope Scope, start uint64, p past) {
	if p.to < start {
		p = past{to: start}
	}
	for until := s.position; p.to < until; {
		s.scan(&p, scope)
	}
	h := history{trimmed: sub.history.trimmed}
	for _, e := range p.events {
		if e.position > start {
			h.push(e)
		}
	}
	sub.history, sub.completeFrom = h, start
}
