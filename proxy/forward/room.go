package forward

import (
	"sync/atomic"

	"sluice/codec"
)

// Limits of what is held in memory of bodies.
const (
	// maxRequest is the longest request body that is converted, in bytes: the
	// apiserver's own limit (wire.md 10, 413).
	maxRequest = 3 << 20
	// maxAnswer is the longest answer that is converted, in bytes of JSON.
	// A longer list has to be asked for in pages.
	maxAnswer = 64 << 20
	// maxEvent is the longest watch event that is converted, in bytes of JSON:
	// several times what etcd stores of an object.
	maxEvent = 16 << 20
	// knownRoom and unknownRoom bound all bodies together, as they came and as
	// they are converted, of callers who are known and of others.
	knownRoom   = 512 << 20
	unknownRoom = 32 << 20
	// writeRoom is set aside before a write is sent that has to be answered
	// in another format: once it is done it is too late to refuse it.
	writeRoom = 2 * maxRequest
)

// room is what is left of a bound on memory, in bytes.
type room struct{ left atomic.Int64 }

// lease is a part of a room. It is for one goroutine at a time.
type lease struct {
	room *room
	n    int64
}

// hold makes sure that the lease covers n bytes, or returns a Status that says
// to come back.
func (l *lease) hold(n int64) error {
	more := n - l.n
	if more <= 0 {
		return nil
	}
	if l.room.left.Add(-more) < 0 {
		l.room.left.Add(more)
		return codec.NewTooManyRequests("too many bodies are being converted, please try again later", retrySeconds)
	}
	l.n = n
	return nil
}

// shrink gives back what is held beyond n bytes.
func (l *lease) shrink(n int64) {
	if n < l.n {
		l.room.left.Add(l.n - n)
		l.n = n
	}
}

// end gives everything back.
func (l *lease) end() { l.shrink(0) }
