package cache

import (
	"fmt"
	"slices"
	"time"
)

// Cursor reads the events of one scope at the pace of its reader. It holds no events itself: a
// reader that falls behind the history gets ErrGone. A Cursor is for one goroutine and must be
// closed.
type Cursor struct {
	store    *Store
	sub      *subscription
	scope    Scope
	position uint64 // of the last event that was delivered or skipped
	version  uint64 // events that are not after this version are skipped
}

// Ready returns a channel that is closed once there may be something to read: an event of the
// scope, or the end of the store. The reader must call Ready before [Cursor.Next], or it may miss
// an event.
func (c *Cursor) Ready() <-chan struct{} {
	next := c.sub.wait()
	select {
	case <-c.store.done:
		return c.store.done // Close does not broadcast again
	default:
		return next
	}
}

// Next fills dst with the next events and returns their number, zero when there are none yet, and
// the version up to which the reader has received everything with these events.
//
// Of archived events it returns few, which the reader alone holds. It returns ErrGone when the history no longer has the next event
// of the scope, and ErrClosed when the store has ended and all of its events have been read.
func (c *Cursor) Next(dst []*Event) (n int, version uint64, err error) {
	for more, archived := true, false; more && n < len(dst) && (n == 0 || !archived); {
		before, packed := n, []archivedEvent(nil)
		if n, packed, version, more, err = c.read(dst, n); err != nil {
			return 0, 0, err
		}
		if archived = len(packed) > 0; archived {
			found := dst[before:n]
			if err := unpack(found, packed); err != nil {
				return 0, 0, fmt.Errorf("%w: %w", ErrGone, err)
			}
			found = slices.DeleteFunc(found, func(e *Event) bool { return !c.store.history.concerns(c.scope, e) })
			n = before + len(found)
		}
	}
	c.version = max(c.version, version)
	return n, version, nil
}

// scanPiece is how many events are looked at under one lock. To look at a whole history takes milliseconds, in which
// no event could be applied.
const scanPiece = 512

// read adds the next events to the n that dst has, and reports whether others may follow. Those from before the
// subscription are in the history of the whole resource. The last of them have to be unpacked, if packed has any.
func (c *Cursor) read(dst []*Event, n int) (_ int, packed []archivedEvent, version uint64, more bool, err error) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	old, all, h := &s.history.archive, &s.history.all.events, &c.sub.events
	subscribed := c.position >= max(c.sub.from, h.trimmed) // h has all further events
	if !subscribed && c.position < old.trimmed && s.Prehistory.quietSince(c.scope, c.version) {
		c.position = old.trimmed
	}
	switch {
	case subscribed:
	case c.position < old.trimmed:
		return 0, nil, 0, false, ErrGone
	case c.position < all.trimmed:
		var found []*Event
		found, packed, c.position = old.find(c.scope, c.position, c.version, len(dst)-n)
		return n + copy(dst[n:], found), packed, s.history.upTo(c.position), true, nil
	default:
		h = all
	}
	i := h.indexAfter(c.position)
	for last := min(i+scanPiece, h.n); i < last && n < len(dst); i++ {
		e := h.at(i)
		c.position = e.position
		if e.isAfter(c.version) && s.history.concerns(c.scope, e) {
			dst[n] = e
			n++
		}
	}
	switch {
	case i < h.n && n == 0:
		return 0, nil, 0, true, nil
	case i < h.n:
		return n, nil, min(dst[n-1].RV, h.at(i).RV-1), true, nil
	case n == 0 && s.closed:
		return 0, nil, 0, false, ErrClosed
	}
	c.position = s.history.position
	return n, nil, max(c.version, s.applied.Load().Version), false, nil
}

// CaughtUpVersion returns the version of a bookmark that the reader may send: the version up to
// which there is nothing left to read. It returns ErrPending if there are events to read, and
// otherwise the errors of Next.
func (c *Cursor) CaughtUpVersion() (version uint64, err error) {
	var one [1]*Event
	peek := *c // Next moves the copy
	n, version, err := peek.Next(one[:])
	if err == nil && n > 0 {
		return 0, ErrPending
	}
	return version, err
}

// Rewind makes the cursor continue after an event that Next has returned, so that the reader need not hold
// those that follow it.
func (c *Cursor) Rewind(e *Event) { c.position, c.version = e.position, e.RV }

// Behind returns how many events of the scope are in the history after version, and when the first of them was
// received. It does not look further than markPiece archived events, and scanPiece from before
// the subscription. Unlike
// the other methods it can be called by any goroutine, until Close.
func (c *Cursor) Behind(version uint64) (events int, since time.Time) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	old, all, h := &s.history.archive, &s.history.all.events, &c.sub.events
	events, since = old.count(c.scope, version)
	first := all.indexNewer(version)
	for i := first; i < min(first+scanPiece, all.n) && all.at(i).position <= c.sub.from; i++ {
		if e := all.at(i); s.history.concerns(c.scope, e) {
			if events++; events == 1 {
				since = e.At
			}
		}
	}
	if i := h.indexNewer(version); i < h.n {
		if events == 0 {
			since = h.at(i).At
		}
		events += h.n - i
	}
	return events, since
}

// Close releases the cursor.
func (c *Cursor) Close() {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.history.unsubscribe(c.scope, c.sub)
}
