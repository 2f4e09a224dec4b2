package cache

import (
	"fmt"
	"os"
	"sluice/cache/tree"
	"time"
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
// contradicts a roll call.
func (s *Store) Apply(t Type, o *tree.Object, at time.Time) error {
	now := s.applied.Load()
	e := &Event{Type: t, RV: o.RV, Object: o, Previous: now.Get(o.Key), At: at}
	if s.repeats(e) {
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

// repeats reports whether e is a deletion that was applied before the watch was resumed from
// ResumeVersion.
func (s *Store) repeats(e *Event) bool {
	return e.Type == Deleted && e.Previous == nil && e.RV == s.lastVersion
}

// checkVersion reports whether the version of e follows from the one up to which the store is complete.
// A proof may raise that at any time, so the caller must hold mu until e is recorded.
func (s *Store) checkVersion(e *Event) error {
	version := s.applied.Load().Version
	// The keys that one etcd transaction changes share a resource version.
	sameTransaction := e.RV == version && version == s.lastVersion && e.Object.Key != s.lastKey
	if e.RV <= version && !sameTransaction {
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
	if e.shares = e.RV == s.lastVersion; !e.shares {
		s.lastEvents = 0
	}
	s.lastEvents++
	s.lastVersion, s.lastKey, s.streamVersion = e.RV, e.Object.Key, e.RV
	s.endsInDeletion = e.Type == Deleted
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
	s.publish(e.after, e.RV, s.endsInDeletion)
	if s.comparison != nil {
		s.comparison.apply(e)
		s.settle()
	}
	return woken, nil
}

// trim removes the events that are too old or exceed the memory limit, except the newest.
func (s *Store) trim(now time.Time) {
	h := &s.all.history
	for h.n > 1 && (s.historyBytes > s.options.HistoryBytes || now.Sub(h.at(0).At) > s.options.HistoryAge) {
		if s.recent.events == h.n {
			s.recent.remove(h.at(0))
		}
		e := h.pop()
		s.oldestVersion, s.oldestState, s.oldestShared = e.RV, e.after, e.shares
		s.historyBytes -= e.size()
		for _, scope := range s.scopesOf(e) {
			if sub := s.subscriptions[scope]; sub != nil && sub.history.n > 0 && sub.history.at(0) == e {
				sub.history.pop()
			}
		}
	}
}

// ApplyBookmark applies a bookmark of the apiserver's watch: the state is complete up to version. At
// the version of a deletion it proves nothing: an apiserver may send it between two deletions. It
// returns an error wrapping ErrDiverged if the watch has already delivered a higher version, or if
// the state contradicts a roll call.
func (s *Store) ApplyBookmark(version uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version < s.streamVersion {
		return fmt.Errorf("bookmark %d after %d: %w", version, s.streamVersion, ErrDiverged)
	}
	s.streamVersion = version
	if s.endsInDeletion && version == s.lastVersion {
		return nil
	}
	s.endsInDeletion = false
	if err := s.contradiction(version); err != nil {
		return err
	}
	s.raise(version)
	return nil
}

// ResumeVersion returns the version from which a new watch continues the one that ended: that of its
// newest event or bookmark, or the version before a deletion. When a lease expires in etcd, all of its
// keys are deleted at one version, and the watch may have ended between them. Apply ignores the
// deletions that the new watch repeats.
func (s *Store) ResumeVersion() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.endsInDeletion {
		return s.streamVersion - 1
	}
	return s.streamVersion
}

// Silence is a proof by a second watch: the apiserver has no event of the resource in (Last, Version].
type Silence struct {
	Last    uint64 // the version of the last event of the watch, or where the watch began
	Events  int    // how many events of this version the watch has delivered
	Version uint64 // of the bookmark behind it
}

// ConfirmComplete applies a proof by a second watch: if the store is complete up to the last event of
// that watch, it is also complete up to its bookmark. It reports whether the store is. An event that
// contradicts the proof makes Apply return ErrDiverged; a bookmark that arrives late does not
// contradict it. The error wraps ErrDiverged if the state then contradicts a roll call.
func (s *Store) ConfirmComplete(p Silence) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.applied.Load()
	if s.closed || s.doubtful() || now.Version < p.Last {
		return false, nil
	}
	if !now.Reaches(p.Last) && (p.Version == p.Last || p.Events == 0 || p.Events > s.lastEvents) {
		return false, nil // more deletions of this version may follow
	}
	if err := s.contradiction(p.Version); err != nil {
		return false, err
	}
	s.raise(p.Version)
	return true, nil
}

// raise publishes the present state under a higher version.
func (s *Store) raise(version uint64) {
	if now := s.applied.Load(); version > now.Version {
		s.publish(now.state, version, false)
	}
}
