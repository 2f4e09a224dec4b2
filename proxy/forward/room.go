package forward

import (
	"sync"

	"sluice/codec"
)

// Limits of what is held in memory of bodies.
const (
	// maxRequest is the longest request body that is converted, in bytes: the
	// apiserver's own limit (wire.md 10, 413).
	maxRequest = 3 << 20
	// maxAnswer is the longest answer that is converted, in bytes of JSON.
	// A longer list has to be asked for in pages.
	maxAnswer = 32 << 20
	// maxMade is the longest answer that is made of it, in bytes by estimate.
	maxMade = 64 << 20
	// maxNesting is how deep an answer may nest that is converted: indented it
	// grows by its depth. Objects of the API stay far below.
	maxNesting = 128
	// maxEvent is the longest watch event that is converted, in bytes of JSON:
	// several times what etcd stores of an object.
	maxEvent = 16 << 20
	// knownRoom and unknownRoom bound all bodies together, as they came and as
	// they are converted, of callers who are known and of others.
	knownRoom   = 512 << 20
	unknownRoom = 32 << 20
	// shares is how many callers it takes to fill the room of the known.
	shares = 4
	// writeRoom and so many times the body are set aside before a write is sent
	// that has to be answered in another format: once it is done it is too late
	// to refuse it. It is for the object that was sent, defaults and managed
	// fields, and what is made of it; what is longer takes what room there is.
	writeRoom   = 1 << 20
	writeFactor = 4
)

// room is a bound on memory, in bytes, and on what one user may take of it.
type room struct {
	share int64 // for one user

	mu    sync.Mutex
	left  int64            // guarded by mu
	taken map[string]int64 // by user; guarded by mu
}

func newRoom(size, share int64) *room {
	return &room{share: share, left: size, taken: map[string]int64{}}
}

// take takes n bytes for a user, or gives them back if n is negative.
func (r *room) take(user string, n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > 0 && (n > r.left || r.taken[user]+n > r.share) {
		return false
	}
	r.left -= n
	if r.taken[user] += n; r.taken[user] == 0 {
		delete(r.taken, user)
	}
	return true
}

// lease is a part of a room. It is for one goroutine at a time.
type lease struct {
	room *room
	user string
	n    int64
}

// hold makes sure that the lease covers n bytes, or returns a Status that says
// to come back.
func (l *lease) hold(n int64) error {
	if n <= l.n {
		return nil
	}
	if !l.room.take(l.user, n-l.n) {
		return codec.NewTooManyRequests("too many bodies are being converted, please try again later", retrySeconds)
	}
	l.n = n
	return nil
}

// shrink gives back what is held beyond n bytes.
func (l *lease) shrink(n int64) {
	if n < l.n {
		l.room.take(l.user, n-l.n)
		l.n = n
	}
}

// end gives everything back.
func (l *lease) end() { l.shrink(0) }
