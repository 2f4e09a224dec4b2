package cache

// Cursor reads the events of one scope, at its reader's own pace. It holds no
// events: one that falls behind the history learns so from ErrGone. A Cursor
// is for one goroutine and must be closed.
type Cursor struct {
	store *Store
	topic *topic
	scope Scope
	pos   uint64 // position of the last event that was delivered or skipped
	floor uint64 // events up to this version are not wanted
}

// Wait returns a channel that is closed once there may be something to read:
// an event of the scope, or the store's end. It must be taken before
// [Cursor.Next] is called, or one may be missed.
func (c *Cursor) Ready() <-chan struct{} {
	bell := c.topic.wait()
	select {
	case <-c.store.done:
		return c.store.done // nobody rings any more
	default:
		return bell
	}
}

// Next fills dst with the following events and returns how many, zero when
// there are none yet. The version it returns is the one up to which the
// reader has been given everything once it has handled these events.
//
// Errors are ErrGone when the cursor fell off the history, and ErrClosed when
// the store has ended and all its events have been read.
func (c *Cursor) Next(dst []*Event) (n int, version uint64, err error) {
	s := c.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := &c.topic.log
	if c.pos < l.lost {
		return 0, 0, ErrGone
	}
	i := l.after(c.pos)
	for ; i < l.n && n < len(dst); i++ {
		e := l.at(i)
		c.pos = e.seq
		if e.RV > c.floor {
			dst[n] = e
			n++
		}
	}
	if i < l.n {
		return n, dst[n-1].RV, nil
	}
	if n == 0 && s.closed {
		return 0, 0, ErrClosed
	}
	c.pos = s.seq
	return n, s.snapshot.Load().Version, nil
}

// CaughtUpVersion returns the version up to which nothing is left to read for the
// cursor, which is what a bookmark may tell. It returns ErrPending if there are
// events to read, and otherwise the errors of Next.
func (c *Cursor) CaughtUpVersion() (version uint64, err error) {
	var one [1]*Event
	n, version, err := c.peek(one[:])
	if err == nil && n > 0 {
		return 0, ErrPending
	}
	return version, err
}

// peek is Next for a cursor that stays where it is.
func (c *Cursor) peek(dst []*Event) (int, uint64, error) {
	ahead := *c
	return ahead.Next(dst)
}

// Close gives up the cursor.
func (c *Cursor) Close() {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	c.topic.cursors--
	if c.topic.cursors == 0 && c.scope != (Scope{}) {
		delete(s.topics, c.scope)
	}
}
