package reflector

import (
	"sync/atomic"
	"time"
)

// link tells how recent the store is by the watch. Times are in Unix nanoseconds.
type link struct {
	connected atomic.Bool
	contact   atomic.Int64 // when a watch opened, or its last event or bookmark arrived
	known     atomic.Int64 // when the last event or bookmark that was applied arrived
	lost      atomic.Int64 // when the last watch ended; 0 while one is open
}

// opened records that a watch is open.
func (l *link) opened() {
	l.connected.Store(true)
	l.lost.Store(0)
	l.contact.Store(time.Now().UnixNano())
}

// closed records that the watch has ended.
func (l *link) closed() {
	l.connected.Store(false)
	l.lost.Store(time.Now().UnixNano())
}

// Connected reports whether a watch is open, and when it opened or its last event or bookmark arrived.
func (l *link) Connected() (bool, time.Time) {
	return l.connected.Load(), time.Unix(0, l.contact.Load())
}

// Known returns when the last event or bookmark arrived that the store has applied. A watch that has opened tells nothing
// of earlier events.
func (l *link) Known() time.Time { return time.Unix(0, l.known.Load()) }

// DisconnectedFor returns how long no watch has been open, 0 while one is. The store may be that
// old.
func (l *link) DisconnectedFor() time.Duration {
	if lost := l.lost.Load(); lost != 0 {
		return time.Since(time.Unix(0, lost))
	}
	return 0
}
