package cache

import (
	"fmt"
	"os"
	"time"

	"sluice/cache/tree"
)

// validating makes every store check its trees after each event, which is slow. The environment
// variable SLUICE_VALIDATE=1 switches it on, and so do the tests of this package.
var validating = os.Getenv("SLUICE_VALIDATE") == "1"

func checkTree(t tree.Tree) {
	if err := t.Validate(); err != nil {
		panic("cache: broken tree: " + err.Error())
	}
}

// Apply applies the next event of the apiserver's watch, received at the given time: o is the new
// object, or for Deleted the last one with the resource version of the deletion. It returns an
// error wrapping ErrDiverged if the event does not follow from the state, or if the state before it
// contradicts an inventory.
func (s *Store) Apply(t Type, o *tree.Object, at time.Time) error {
	now := s.applied.Load()
	e := &Event{Type: t, RV: o.RV, Object: o, Previous: now.Get(o.Key), At: at}
	if s.ledger.repeats(e) {
		return nil
	}
	if (e.Previous == nil) != (e.Type == Added) {
		return fmt.Errorf("%s %s at version %d: %w", e.Type, e.Object.Key, e.RV, ErrDiverged)
	}
	e.after = now.next(e)
	if validating {
		checkTree(e.after.Tree)
	}
	woken, err := s.record(e)
	for _, sub := range woken {
		if sub != nil {
			sub.broadcast()
		}
	}
	return err
}

// checkVersion reports whether the version of e follows from the one up to which the store is complete.
// A proof may raise that at any time, so the caller must hold mu until e is recorded.
func (s *Store) checkVersion(e *Event) error {
	version := s.applied.Load().Version
	if !s.ledger.follows(e, version) {
		return fmt.Errorf("%s %s at version %d after %d: %w", e.Type, e.Object.Key, e.RV, version, ErrDiverged)
	}
	return s.contradiction(e.RV - 1)
}

// next returns the state after an event.
func (st state) next(e *Event) state {
	object := e.Object
	st.replaced += e.size()
	if e.Type == Deleted {
		object = nil
	}
	st.Tree = st.With(e.Previous, object)
	return st
}

// record appends the event to the history and publishes the state after it. It returns the
// subscriptions whose cursors must then be woken, so that they see both.
func (s *Store) record(e *Event) (woken [1 + maxScopes]*subscription, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkVersion(e); err != nil {
		return woken, err
	}
	s.position++
	e.position = s.position
	s.ledger.event(e)
	s.eventAt.Store(e.At.UnixNano())
	s.all.history.push(e)
	woken[0] = s.all
	for i, scope := range s.scopesOf(e) {
		if sub := s.subscriptions[scope]; sub != nil {
			sub.history.push(e)
			woken[i+1] = sub
		}
	}
	s.historyBytes += e.size()
	s.recent.add(e)
	s.recent.evict(&s.all.history)
	s.trim(e.At)
	s.publish(e.after, e.RV)
	if s.ledger.compared != nil {
		s.ledger.compared.apply(e)
		s.settle()
	}
	return woken, nil
}

// trimPiece bounds the events that are removed for their age after each event: no reader can go on meanwhile.
const trimPiece = 256

// trim removes the events that exceed the memory limit and some of those that are too old, except the newest.
func (s *Store) trim(now time.Time) {
	h, most, oldest := &s.all.history, s.options.HistoryBytes, s.options.HistoryAge
	for i := 0; h.n > 1; i++ {
		large := most > 0 && s.historyBytes+s.prehistory.size() > most
		if old := oldest > 0 && now.Sub(h.at(0).At) > oldest && i < trimPiece; !large && !old {
			return
		}
		if s.recent.events == h.n {
			s.recent.remove(h.at(0))
		}
		e := h.pop()
		scopes := s.scopesOf(e)
		s.prehistory.add(e, scopes, s.firstWatchable())
		s.oldestVersion, s.oldestState, s.oldestShared = e.RV, e.after, e.shares
		s.historyBytes -= e.size()
		for _, scope := range scopes {
			if sub := s.subscriptions[scope]; sub != nil && sub.history.n > 0 && sub.history.at(0) == e {
				sub.history.pop()
			}
		}
	}
}

// ApplyBookmark applies a bookmark of the apiserver's watch: the state is complete up to version. It
// returns an error wrapping ErrDiverged if the watch has already delivered a higher version, or if
// the state contradicts an inventory.
func (s *Store) ApplyBookmark(version uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ledger.bookmark(version); err != nil {
		return err
	}
	if err := s.contradiction(version); err != nil {
		return err
	}
	s.raise(version)
	return nil
}

// ResumeVersion returns the version from which a new watch continues the one that ended: the version of its
// newest event or bookmark, or the one before a deletion. A lease that expires in etcd deletes all of its
// keys at one version, and the watch may have ended between them. Apply ignores the deletions that the new
// watch repeats.
func (s *Store) ResumeVersion() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ledger.resume()
}

// scopesOf returns the scopes that an event concerns, besides the whole resource and without
// duplicates. The result is valid until the next call.
func (s *Store) scopesOf(e *Event) []Scope {
	scopes := s.scopes[:0]
	k := e.Object.Key
	scopes = append(scopes, Scope{Key: k})
	if ns := k.Namespace(); ns != "" {
		scopes = append(scopes, Scope{Namespace: ns})
	}
	if s.options.Index != nil {
		field := *s.options.Index
		now := e.Object.Field(field)
		scopes = append(scopes, Scope{Indexed: true, Value: now})
		if e.Previous != nil && e.Previous.Field(field) != now {
			scopes = append(scopes, Scope{Indexed: true, Value: e.Previous.Field(field)})
		}
	}
	return scopes
}
