package cache

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Options sets the limits of a store. The zero value means the defaults.
type Options struct {
	// HistoryAge is how long events are kept; 0 means five minutes.
	HistoryAge time.Duration
	// HistoryBytes is about how much memory past states and events may keep;
	// 0 means 64 MiB.
	HistoryBytes int64
	// Index is the position in Object.Fields of the field that is indexed;
	// nil indexes none.
	Index *int
}

const (
	defaultHistoryAge   = 5 * time.Minute
	defaultHistoryBytes = 64 << 20
	// warmEvents is how many of the newest events keep their encoded frames,
	// and warmBytes the most bytes of objects that these may have together:
	// watchers that keep up read them there.
	warmEvents = 512
	warmBytes  = 8 << 20
)

func (o Options) withDefaults() Options {
	if o.HistoryAge == 0 {
		o.HistoryAge = defaultHistoryAge
	}
	if o.HistoryBytes == 0 {
		o.HistoryBytes = defaultHistoryBytes
	}
	return o
}

// Store is one unbroken line of history of a resource. One goroutine writes
// ([Store.Apply], [Store.ApplyBookmark], [Store.Close]); any number read, and may
// prove ([Store.Prove]) what they have learnt of the upstream.
type Store struct {
	options  Options
	snapshot atomic.Pointer[Snapshot]
	changed  topic // rings whenever the version rises
	done     chan struct{}

	mu     sync.RWMutex // guards all below
	whole  *topic
	topics map[Scope]*topic // those with cursors, beside whole
	seq    uint64           // position of the newest event
	floor  uint64           // version behind which the history is complete
	base   state            // at floor
	bytes  int64            // kept alive by the history
	warm   struct {         // the newest events, which keep their frames
		events int
		bytes  int64
	}
	closed   bool
	streamed uint64 // version of the stream: of the newest event or bookmark
	lastRV   uint64 // version of the newest event
	lastKey  Key
	scratch  [4]Scope
}

// New returns a store that holds objects, which must be in strictly ascending
// key order, and is complete up to version.
func New(options Options, objects []*Object, version uint64) *Store {
	s := &Store{
		options:  options.withDefaults(),
		done:     make(chan struct{}),
		whole:    &topic{},
		topics:   map[Scope]*topic{},
		floor:    version,
		streamed: version,
	}
	s.base.root = build(objects)
	if options.Index != nil {
		s.base.index = buildIndex(objects, *options.Index)
	}
	s.publish(s.base, version)
	return s
}

// publish makes a new state visible. The snapshot is in place before any
// reader is woken, so who wakes finds it.
func (s *Store) publish(st state, version uint64) {
	s.snapshot.Store(&Snapshot{Version: version, state: st})
	s.changed.ring()
}

// Snapshot returns the newest state.
func (s *Store) Snapshot() *Snapshot { return s.snapshot.Load() }

// Changed returns a channel that is closed when the version rises above that
// of a snapshot taken afterwards.
func (s *Store) Changed() <-chan struct{} { return s.changed.wait() }

// Done is closed when the store has ended: its line of history is broken.
func (s *Store) Done() <-chan struct{} { return s.done }

// Apply takes the next event of the upstream: o is the new state, or the last
// one under the version of the deletion. It returns an error wrapping
// ErrDiverged if the event does not follow from the state.
func (s *Store) Apply(t Type, o *Object, at time.Time) error {
	now := s.snapshot.Load()
	e := &Event{Type: t, RV: o.RV, Object: o, Previous: now.Get(o.Key), At: at}
	if err := s.check(e, now.Version); err != nil {
		return err
	}
	e.after = s.change(now.state, e)
	if validating {
		mustBeValid(e.after.root)
		mustBeValid(e.after.index)
	}
	s.record(e)
	return nil
}

// change returns the state after an event.
func (s *Store) change(st state, e *Event) state {
	next := e.Object
	if e.Type == Deleted {
		next = nil
		st.root = st.root.remove(e.Object.Key)
	} else {
		st.root = st.root.put(next)
	}
	if s.options.Index != nil {
		st.index = reindex(st.index, *s.options.Index, e.Previous, next)
	}
	return st
}

func (s *Store) check(e *Event, version uint64) error {
	if (e.Previous == nil) != (e.Type == Added) {
		return fmt.Errorf("%s %s at version %d: %w", e.Type, e.Object.Key, e.RV, ErrDiverged)
	}
	// Several keys may change in one transaction and so share a version.
	together := e.RV == version && version == s.lastRV && e.Object.Key != s.lastKey
	if e.RV <= version && !together {
		return fmt.Errorf("%s %s at version %d after %d: %w", e.Type, e.Object.Key, e.RV, version, ErrDiverged)
	}
	return nil
}

// record appends the event to the history and publishes the state after it.
// Cursors are woken last: they find both.
func (s *Store) record(e *Event) {
	var wake [len(s.scratch) + 1]*topic
	s.mu.Lock()
	s.seq++
	e.seq = s.seq
	s.lastRV, s.lastKey, s.streamed = e.RV, e.Object.Key, e.RV
	s.whole.log.push(e)
	wake[0] = s.whole
	for i, scope := range s.scopesOf(e) {
		if t := s.topics[scope]; t != nil {
			t.log.push(e)
			wake[i+1] = t
		}
	}
	s.bytes += e.size()
	s.warm.events++
	s.warm.bytes += int64(len(e.Object.Data))
	s.cool()
	s.trim(e.At)
	s.publish(e.after, e.RV)
	s.mu.Unlock()
	for _, t := range wake {
		if t != nil {
			t.ring()
		}
	}
}

func (s *Store) topicOf(scope Scope) *topic {
	if scope == (Scope{}) {
		return s.whole
	}
	return s.topics[scope]
}

// cool drops the frames of events that are no longer warm.
func (s *Store) cool() {
	l := &s.whole.log
	for s.warm.events > warmEvents || (s.warm.bytes > warmBytes && s.warm.events > 1) {
		e := l.at(l.n - s.warm.events)
		e.frames.drop()
		s.warm.events--
		s.warm.bytes -= int64(len(e.Object.Data))
	}
}

// trim drops the events that are over age or over budget, except the newest.
func (s *Store) trim(now time.Time) {
	l := &s.whole.log
	for l.n > 1 && (s.bytes > s.options.HistoryBytes || now.Sub(l.at(0).At) > s.options.HistoryAge) {
		if s.warm.events == l.n {
			s.warm.events--
			s.warm.bytes -= int64(len(l.at(0).Object.Data))
		}
		e := l.pop()
		s.floor, s.base = e.RV, e.after
		s.bytes -= e.size()
		for _, scope := range s.scopesOf(e) {
			if t := s.topics[scope]; t != nil && t.log.n > 0 && t.log.at(0) == e {
				t.log.pop()
			}
		}
	}
}

// ApplyBookmark takes a bookmark: the state is complete up to version. It returns an
// error wrapping ErrDiverged if the stream had already gone beyond it.
func (s *Store) ApplyBookmark(version uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version < s.streamed {
		return fmt.Errorf("bookmark %d after %d: %w", version, s.streamed, ErrDiverged)
	}
	s.streamed = version
	s.raise(version)
	return nil
}

// ConfirmComplete takes the knowledge that the upstream had no event in (last, version]:
// if the store holds every event up to last, it is complete up to version. It
// reports whether it is.
func (s *Store) ConfirmComplete(last, version uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.snapshot.Load().Version < last {
		return false
	}
	s.raise(version)
	return true
}

func (s *Store) raise(version uint64) {
	if now := s.snapshot.Load(); version > now.Version {
		s.publish(now.state, version)
	}
}

// Close ends the store. Cursors deliver what they have not read yet.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	s.whole.ring()
	for _, t := range s.topics {
		t.ring()
	}
	s.changed.ring()
}

// OldestVersion returns the version behind which every event can still be read.
func (s *Store) OldestVersion() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.floor
}

// At returns the state at a version that the store has reached. It returns
// ErrGone if the history does not reach back that far, and ErrAhead if the
// version is not reached.
func (s *Store) At(version uint64) (*Snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch now := s.snapshot.Load(); {
	case version < s.floor:
		return nil, ErrGone
	case version > now.Version:
		return nil, ErrAhead
	}
	l := &s.whole.log
	if i := l.newer(version); i > 0 {
		return &Snapshot{Version: version, state: l.at(i - 1).after}, nil
	}
	return &Snapshot{Version: version, state: s.base}, nil
}

// Watch returns a cursor over the events of scope that are newer than version,
// which may lie in the future. It returns ErrGone if the history does not
// reach back that far.
func (s *Store) Watch(scope Scope, version uint64) (*Cursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if version < s.floor {
		return nil, ErrGone
	}
	start := s.seq
	if l := &s.whole.log; l.n > 0 {
		if i := l.newer(version); i < l.n {
			start = l.at(i).seq - 1
		}
	}
	return &Cursor{store: s, topic: s.join(scope, start), scope: scope, pos: start, floor: version}, nil
}

// ListAndWatch returns the present state and a cursor over the events of scope
// that follow it.
func (s *Store) ListAndWatch(scope Scope) (*Snapshot, *Cursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	state := s.snapshot.Load()
	return state, &Cursor{store: s, topic: s.join(scope, s.seq), scope: scope, pos: s.seq}, nil
}

// join returns the topic of scope with one more cursor, complete behind
// position start.
func (s *Store) join(scope Scope, start uint64) *topic {
	t := s.topicOf(scope)
	if t == nil {
		t = &topic{since: s.seq}
		s.topics[scope] = t
	}
	if scope != (Scope{}) && start < t.since {
		s.extend(t, scope, start)
	}
	t.cursors++
	return t
}

// extend reaches back into the whole history for the events of scope behind
// position start.
func (s *Store) extend(t *topic, scope Scope, start uint64) {
	var l log
	l.lost = t.log.lost
	whole := &s.whole.log
	for i := whole.after(start); i < whole.n; i++ {
		if e := whole.at(i); scope.concerns(e, s.indexField()) {
			l.push(e)
		}
	}
	t.log, t.since = l, start
}

func (s *Store) indexField() int {
	if s.options.Index == nil {
		return 0
	}
	return *s.options.Index
}

// perObject is about what an object keeps beside its data, with a few labels
// and fields, in bytes.
const perObject = objectOverhead + 250

// Stats describes a store for metrics.
type Stats struct {
	Objects      int
	Version      uint64
	DataBytes    int64 // sum of the objects' data
	Bytes        int64 // about what the present objects keep in memory
	Events       int   // in the history
	HistoryBytes int64 // kept alive by the history
	Cursors      int
}

// Stats returns the present figures.
func (s *Store) Stats() Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := s.snapshot.Load()
	st := Stats{
		Objects: state.Len(), Version: state.Version, DataBytes: state.Bytes(), Bytes: state.Bytes() + int64(state.Len())*perObject,
		Events: s.whole.log.n, HistoryBytes: s.bytes, Cursors: s.whole.cursors,
	}
	for _, t := range s.topics {
		st.Cursors += t.cursors
	}
	return st
}
