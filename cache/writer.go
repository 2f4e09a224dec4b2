package cache

import (
	"fmt"
	"math"
	"time"

	"sluice/cache/tree"
)

// Writer is the one goroutine that fills a store.
type Writer struct {
	*Store
	packer packer
}

// New returns the writer of a store that holds objects, which must be in strictly ascending order of keys, and
// that is complete up to version.
func New(options Options, objects []*tree.Object, version uint64) *Writer {
	content := state{Tree: tree.New(objects, options.Index)}
	past := newPrehistory(version, options.HistoryBytes)
	s := &Store{
		Prehistory: past,
		done:       make(chan struct{}),
		history: history{
			options: options, all: &subscription{}, subscriptions: map[Scope]*subscription{},
			complete: version, oldestVersion: version, oldestState: content, prehistory: past,
		},
		ledger: ledger{delivered: version},
	}
	now := &Snapshot{Version: version, state: content}
	s.applied.Store(now)
	s.snapshot.Store(now)
	s.ledger.trusted.Store(math.MaxUint64)
	return &Writer{Store: s}
}

// Apply applies the next event of the apiserver's watch, received at the given time: o is the new
// object, or for Deleted the last one with the resource version of the deletion. It returns an
// error wrapping ErrDiverged if the event does not follow from the state, or if the state before it
// contradicts an inventory.
func (w *Writer) Apply(t Type, o *tree.Object, at time.Time) error {
	now := w.applied.Load()
	e := &Event{Type: t, RV: o.RV, Object: o, Previous: now.Get(o.Key), At: at}
	if w.ledger.repeats(e) {
		return nil
	}
	if (e.Previous == nil) != (e.Type == Added) {
		return fmt.Errorf("%s %s at version %d: %w", e.Type, e.Object.Key, e.RV, ErrDiverged)
	}
	e.after = now.next(e)
	woken, err := w.record(e)
	for _, sub := range woken {
		if sub != nil {
			sub.broadcast()
		}
	}
	if err != nil {
		return err
	}
	return w.shorten(at)
}

// shorten keeps the history within its limits. The oldest event with a state stays the oldest while it is compressed without the lock,
// because only this goroutine removes events.
func (w *Writer) shorten(now time.Time) error {
	for more := true; more; {
		w.mu.Lock()
		var e *Event
		e, more = w.history.trim(now)
		w.mu.Unlock()
		if e == nil {
			continue
		}
		packed, err := w.packer.pack(e, w.history.sample)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDiverged, err) // the history cannot go on
		}
		w.mu.Lock()
		w.history.archive.add(packed, w.history.marksOf(e))
		w.history.forget()
		w.mu.Unlock()
	}
	return nil
}

// next returns the state after an event.
func (st state) next(e *Event) state {
	object := e.Object
	if e.Type == Deleted {
		object = nil
	}
	st.Tree = st.With(e.Previous, object)
	return st
}

// record appends the event to the history and publishes the state after it. It returns the
// subscriptions whose cursors must then be woken, so that they see both.
func (w *Writer) record(e *Event) (woken [1 + maxScopes]*subscription, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// A proof may raise the version up to which the store is complete at any time but now.
	if version := w.applied.Load().Version; !w.ledger.follows(e, version) {
		return woken, fmt.Errorf("%s %s at version %d after %d: %w", e.Type, e.Object.Key, e.RV, version, ErrDiverged)
	}
	if err := w.ledger.contradiction(e.RV-1, &w.history); err != nil {
		return woken, err
	}
	w.ledger.event(e)
	w.eventAt.Store(e.At.UnixNano())
	woken = w.history.push(e)
	w.publish(e.after, e.RV)
	if c := w.ledger.compared; c != nil {
		c.apply(e)
		w.settle(c)
	}
	return woken, nil
}

// ApplyBookmark applies a bookmark of the apiserver's watch: the state is complete up to version. It
// returns an error wrapping ErrDiverged if the watch has already delivered a higher version, or if
// the state contradicts an inventory.
func (w *Writer) ApplyBookmark(version uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ledger.bookmark(version); err != nil {
		return err
	}
	if err := w.ledger.contradiction(version, &w.history); err != nil {
		return err
	}
	w.publish(w.applied.Load().state, version)
	return nil
}

// ResumeVersion returns the version from which a new watch continues the one that ended: the version of its
// newest event or bookmark, or the one before a deletion. A lease that expires in etcd deletes all of its
// keys at one version, and the watch may have ended between them. Apply ignores the deletions that the new
// watch repeats.
func (w *Writer) ResumeVersion() uint64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.ledger.resume()
}

// Close ends the store. Cursors deliver the events that they have not read yet and then return
// ErrClosed.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	close(w.done)
	w.history.broadcast()
	w.ledger.changed.broadcast()
}
