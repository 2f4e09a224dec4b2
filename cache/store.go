package cache

import (
	"sync"
	"sync/atomic"
	"time"

	"sluice/cache/tree"
)

// Options sets the limits of a store.
type Options struct {
	// HistoryAge is how long events are kept; 0 means as long as HistoryBytes allows.
	HistoryAge time.Duration
	// HistoryBytes is the approximate limit of the memory that events and past states keep alive; 0 means none.
	HistoryBytes int64
	// Index is the position in Object.Fields of the field that is indexed; nil indexes none.
	Index *int
}

// Store is one unbroken session of a resource. One goroutine has its [Writer]; any number of goroutines read and
// call [Store.ConfirmComplete] and [Store.ConfirmState].
//
//	Store
//	 |
//	 +- snapshot (atomic pointer) --> Snapshot: version 8
//	 |                                 +- root --> nodes --> Segment --> Objects by key
//	 |                                 |                      +- memos: encodings of the segment
//	 |                                 +- index -> nodes --> Segment --> entries by field value, key
//	 |
//	 |                                 oldest              newest
//	 +- history
//	     +- archive -----> [ e1 | e2 | e3 | e4 ]   compressed, without the states after them
//	     +- all ---------> ring [ e5 | e6 | e7 | e8 ]   each Event holds the state after it
//	     |                                ^             and its encoded frames
//	     |                                Cursor of the whole resource, at position 6
//	     +- subscriptions
//	         +- namespace a -> ring [ e6 | e8 ] <-- Cursor, Cursor
//	         +- key b/x -----> ring [ e7 ] <------- Cursor
//
// To apply an event, [Writer.Apply]
//  1. checks that the event follows from the snapshot: else the store has diverged;
//  2. copies the path from the root to the segment of the key, in the tree and in the index; the
//     new state shares everything else with the old one;
//  3. appends the event to the history of the whole resource and of each subscription whose scope
//     it concerns;
//  4. publishes the new snapshot, and then notifies readers, so that a woken reader is guaranteed
//     to see it;
//  5. archives events without the states after them if the history exceeds its memory, and removes those beyond the limits.
//
// To list, a reader
//  1. loads the snapshot, without a lock; it may keep it as long as it likes;
//  2. iterates over the runs of a key range, or over the objects with one value of the index;
//  3. takes the encoding of each run from [tree.Run.Memo].
//
// To watch, a reader
//  1. opens a cursor, from a version or together with a snapshot; the cursor joins the subscription
//     of its scope, and reads older events in the history of the whole resource;
//  2. takes the channel of [Cursor.Ready] and then reads [Cursor.Next] until it returns no event;
//  3. takes the meaning of each event for its selection from [Event.TypeFor], and the bytes from
//     [Event.Frame];
//  4. takes the version of a bookmark from [Cursor.CaughtUpVersion].
type Store struct {
	// Prehistory lets watches begin before the history.
	Prehistory *Prehistory

	applied  atomic.Pointer[Snapshot] // the state up to which the history is complete
	snapshot atomic.Pointer[Snapshot] // the newest state: applied, or a confirmed one of a higher version
	shown    atomic.Uint64            // the newest version that an inventory of a part has given to its reader
	done     chan struct{}            // closed by Close
	eventAt  atomic.Int64             // when the newest event was received, in Unix nanoseconds

	mu      sync.RWMutex // guards the fields below
	history history
	ledger  ledger
	closed  bool
}

// publish makes a state visible, unless a higher version is. The snapshot is stored before the broadcast, so that
// a woken reader is guaranteed to see it. The caller must hold mu.
func (s *Store) publish(st state, version uint64) {
	if version < s.Streamed() {
		return
	}
	now := &Snapshot{Version: version, state: st}
	// snapshot before applied, so that a reader that has seen Streamed finds a snapshot at that
	// version or above.
	s.ledger.drop(version)
	if s.ledger.last() == nil {
		s.snapshot.Store(now)
	}
	s.applied.Store(now)
	s.ledger.changed.broadcast()
}

// Snapshot returns the newest state: the one after the newest event, or a confirmed one of a higher
// version.
func (s *Store) Snapshot() *Snapshot { return s.snapshot.Load() }

// Shown returns the newest version that a reader may have received.
func (s *Store) Shown() uint64 { return max(s.Snapshot().Version, s.shown.Load()) }

// Streamed returns the version up to which the history has every event. The version of the newest
// state may be higher.
func (s *Store) Streamed() uint64 { return s.applied.Load().Version }

// Changed returns a channel that is closed when the store has a newer version than a snapshot
// taken after the call, or when the store ends.
func (s *Store) Changed() <-chan struct{} { return s.ledger.changed.wait() }

// LastEvent returns when the newest event was received.
func (s *Store) LastEvent() time.Time { return time.Unix(0, s.eventAt.Load()) }

// Done returns a channel that is closed when the store ends.
func (s *Store) Done() <-chan struct{} { return s.done }

// OldestVersion returns the version after which the history has every event: the oldest version
// from which every watch can start.
func (s *Store) OldestVersion() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.history.complete
}

// At returns the state at version. It returns ErrGone if version is older than the states of the history, and
// ErrAhead if the store has not reached it. A confirmed version is reached, the ones below it are
// not.
func (s *Store) At(version uint64) (*Snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if version > s.Streamed() {
		return s.ledger.at(version)
	}
	return s.history.at(version)
}

// Watch returns a cursor of the events of scope after version, which may lie in the future. Of several
// events at version, it delivers all but the first: the reader may have a state between them. It
// returns ErrGone if version is older than the history, unless it is known that the scope had no event since
// before it, and ErrClosed if the store has ended.
func (s *Store) Watch(scope Scope, version uint64) (*Cursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.history
	if s.closed {
		return nil, ErrClosed
	}
	if version < h.complete && !s.Prehistory.quietSince(scope, version) {
		return nil, ErrGone
	}
	return &Cursor{store: s, sub: h.subscribe(scope), scope: scope, position: h.startAfter(version), version: version}, nil
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
	c := &Cursor{store: s, sub: s.history.subscribe(scope), scope: scope, position: s.history.position}
	if s.ledger.last() != nil {
		c.version = now.Version // now is confirmed: events up to its version may yet arrive
	}
	return now, c, nil
}

// state is the content of a resource between two events. It is immutable and shares with the states
// before and after it everything that no event has changed.
type state struct{ tree.Tree }

// Snapshot is the immutable state of a resource at one version. Readers may keep it as long as they
// like; snapshots share the parts that they have in common.
type Snapshot struct {
	// Version is the resource version up to which the state is complete: the version of the newest event, of a
	// later bookmark or proof, or the argument of [Store.At].
	Version uint64

	state
}

// Reaches reports whether the state has the effect of every event up to version.
func (s *Snapshot) Reaches(version uint64) bool { return s.Version >= version }
