package cache

import "time"

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
// It returns ErrGone when the history no longer has the next event, and ErrClosed when the store
// has ended and all of its events have been read.
func (c *Cursor) Next(dst []*Event) (n int, version uint64, err error) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	h := &c.sub.history
	if c.position < h.trimmed {
		return 0, 0, ErrGone
	}
	i := h.indexAfter(c.position)
	for ; i < h.n && n < len(dst); i++ {
		e := h.at(i)
		c.position = e.position
		if e.isAfter(c.version) {
			dst[n] = e
			n++
		}
	}
	if i < h.n {
		return n, min(dst[n-1].RV, h.at(i).RV-1), nil
	}
	if n == 0 && s.closed {
		return 0, 0, ErrClosed
	}
	c.position = s.position
	return n, max(c.version, s.applied.Load().CompleteVersion()), nil
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
func (c *Cursor) Rewind(e *Event) { c.position = e.position }

// Behind returns how many events of the scope are in the history after version, and when the first of them was
// received. Unlike the other methods it can be called by any goroutine, until Close.
func (c *Cursor) Behind(version uint64) (events int, since time.Time) {
	c.store.mu.RLock()
	defer c.store.mu.RUnlock()
	h := &c.sub.history
	i := h.indexNewer(version)
	if i == h.n {
		return 0, since
	}
	return h.n - i, h.at(i).At
}
