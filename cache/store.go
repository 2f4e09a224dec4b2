package cache

import (
	"math"
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

// Store is one unbroken session of a resource. One goroutine writes ([Store.Apply],
// [Store.ApplyBookmark], [Store.Doubt], [Store.Trust], [Store.Close]); any number of goroutines read and call
// [Store.ConfirmComplete] and [Store.ConfirmState].
//
//	Store
//	 |
//	 +- snapshot (atomic pointer) --> Snapshot: version 8
//	 |                                 +- root --> nodes --> Segment --> Objects by key
//	 |                                 |                      +- memos: encodings of the segment
//	 |                                 +- index -> nodes --> Segment --> entries by field value, key
//	 |
//	 |                                 oldest              newest
//	 +- all ------------> history ring [ e5 | e6 | e7 | e8 ]   each Event holds the state after it
//	 |                                         ^               and its encoded frames
//	 |                                         Cursor of the whole resource, at position 6
//	 |
//	 +- subscriptions
//	     +- namespace a -> history ring [ e6 | e8 ] <-- Cursor, Cursor
//	     +- key b/x -----> history ring [ e7 ] <------- Cursor
//
// To apply an event, Apply
//  1. checks that the event follows from the snapshot: else the store has diverged;
//  2. copies the path from the root to the segment of the key, in the tree and in the index; the
//     new state shares everything else with the old one;
//  3. appends the event to the history of the whole resource and of each subscription whose scope
//     it concerns;
//  4. evicts frames and trims events beyond the limits;
//  5. publishes the new snapshot, and then notifies readers, so that a woken reader is guaranteed
//     to see it.
//
// To list, a reader
//  1. loads the snapshot, without a lock; it may keep it as long as it likes;
//  2. iterates over the runs of a key range, or over the objects with one value of the index;
//  3. takes the encoding of each run from [tree.Run.Memo].
//
// To watch, a reader
//  1. opens a cursor, from a version or together with a snapshot; the cursor joins the subscription
//     of its scope, and reads what is older than that in the history of the whole resource;
//  2. takes the channel of [Cursor.Ready] and then reads [Cursor.Next] until it returns no event;
//  3. takes the meaning of each event for its selection from [Event.TypeFor], and the bytes from
//     [Event.Frame];
//  4. takes the version of a bookmark from [Cursor.CaughtUpVersion].
type Store struct {
	options  Options
	applied  atomic.Pointer[Snapshot] // the state up to which the history is complete
	snapshot atomic.Pointer[Snapshot] // the newest state: applied, or a confirmed one of a higher version
	trusted  atomic.Uint64            // no version above it is proven: see Doubt
	changed  notifier                 // broadcasts when the version rises, and when the store ends
	done     chan struct{}            // closed by Close
	eventAt  atomic.Int64             // when the newest event was received, in Unix nanoseconds

	mu            sync.RWMutex // guards the fields below
	all           *subscription
	subscriptions map[Scope]*subscription // narrower ones that have cursors
	position      uint64                  // of the newest event
	prehistory    prehistory              // before the history
	oldestVersion uint64                  // the history is complete after this version
	oldestState   state                   // at oldestVersion
	oldestShared  bool                    // several events of oldestVersion have left the history
	historyBytes  int64                   // memory that the history keeps alive
	recent        recentFrames
	closed        bool
	doubted       time.Time // when a doubt began or ended, or a watch was resumed in doubt
	resumed       bool      // the watch is open
	ledger        ledger
	scopes        [maxScopes]Scope // scratch space of scopesOf
}

// New returns a store that holds objects, which must be in strictly ascending order of keys, and
// that is complete up to version.
func New(options Options, objects []*tree.Object, version uint64) *Store {
	s := &Store{
		options:       options,
		done:          make(chan struct{}),
		all:           &subscription{},
		subscriptions: map[Scope]*subscription{},
		oldestVersion: version,
		prehistory:    newPrehistory(version, options.HistoryBytes),
		ledger:        ledger{delivered: version},
	}
	s.oldestState.Tree = tree.New(objects, options.Index)
	s.publish(s.oldestState, version)
	s.trusted.Store(math.MaxUint64)
	return s
}

// publish makes a new state visible. The snapshot is stored before the broadcast, so that a woken
// reader is guaranteed to see it.
func (s *Store) publish(st state, version uint64) {
	now := &Snapshot{Version: version, state: st}
	// snapshot before applied, so that a reader that has seen Streamed finds a snapshot at that
	// version or above.
	s.ledger.drop(version)
	if s.ledger.last() == nil {
		s.snapshot.Store(now)
	}
	s.applied.Store(now)
	s.changed.broadcast()
}

// raise publishes the present state under a higher version.
func (s *Store) raise(version uint64) {
	if now := s.applied.Load(); version > now.Version {
		s.publish(now.state, version)
	}
}

// Snapshot returns the newest state: the one after the newest event, or a confirmed one of a higher
// version.
func (s *Store) Snapshot() *Snapshot { return s.snapshot.Load() }

// Streamed returns the version up to which the history has every event. The version of the newest
// state may be higher.
func (s *Store) Streamed() uint64 { return s.applied.Load().Version }

// Changed returns a channel that is closed when the store has a newer version than a snapshot
// taken after the call, or when the store ends.
func (s *Store) Changed() <-chan struct{} { return s.changed.wait() }

// LastEvent returns when the newest event was received.
func (s *Store) LastEvent() time.Time { return time.Unix(0, s.eventAt.Load()) }

// Done returns a channel that is closed when the store ends.
func (s *Store) Done() <-chan struct{} { return s.done }

// Close ends the store. Cursors deliver the events that they have not read yet and then return
// ErrClosed.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	s.all.broadcast()
	for _, sub := range s.subscriptions {
		sub.broadcast()
	}
	s.changed.broadcast()
}

// OldestVersion returns the version after which the history has every event: the oldest version
// from which every watch can start.
func (s *Store) OldestVersion() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.firstWatchable()
}

// firstWatchable is OldestVersion for a caller that holds mu.
func (s *Store) firstWatchable() uint64 {
	if s.oldestShared {
		return s.oldestVersion + 1
	}
	return s.oldestVersion
}

// At returns the state at version. It returns ErrGone if version is older than the history, and
// ErrAhead if the store has not reached it. A confirmed version is reached, the ones below it are
// not.
func (s *Store) At(version uint64) (*Snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.at(version)
}

// at is At for a caller that holds mu.
func (s *Store) at(version uint64) (*Snapshot, error) {
	switch {
	case version < s.oldestVersion:
		return nil, ErrGone
	case !s.applied.Load().Reaches(version):
		return s.ledger.at(version)
	}
	h := &s.all.history
	if i := h.indexNewer(version); i > 0 {
		return &Snapshot{Version: version, state: h.at(i - 1).after}, nil
	}
	return &Snapshot{Version: version, state: s.oldestState}, nil
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

func (s *Store) indexField() int {
	if s.options.Index == nil {
		return 0
	}
	return *s.options.Index
}
