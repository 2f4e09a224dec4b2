package response

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// WriteTimeout is how long a client may take to accept a piece of writePiece bytes: 9 KB/s.
	WriteTimeout = 30 * time.Second
	writePiece   = 256 << 10
	// ResponseTimeout bounds a response that does not last, as at the apiserver.
	ResponseTimeout = time.Minute
	// blockedFor is how long a write takes at least that the client has blocked.
	blockedFor = time.Second
	// stalledAfter is how long a client that reads does not keep a write waiting.
	stalledAfter = 5 * time.Second
)

// WriteDeadline writes to a client that must accept each piece within WriteTimeout. Between writes
// there is no deadline: a quiet watch is not a slow client. One goroutine writes; EndWithin may be
// called at any time.
//
// It uses a timer instead of a deadline of the connection around each write, because over HTTP/2
// setting a deadline costs a message to the goroutine of the connection. The timer is not set and stopped
// around each write either, which would cost a tenth of delivering an event: it stays set, and looks at
// the writes when it fires. So Stop must be called after the last write, or the writer and its connection are
// kept for WriteTimeout.
type WriteDeadline struct {
	w       http.ResponseWriter
	made    time.Time // other times are durations since then
	timer   *time.Timer
	expired chan struct{} // closed by expire
	since   atomic.Int64  // when the current write began; 0 between writes, or expiring
	end     atomic.Int64  // of all writes; 0 for none
	set     atomic.Bool   // the timer is set
	stalled atomic.Bool   // a write has failed after stalledAfter
	blocked atomic.Bool   // a write has taken blockedFor
}

// expiring is since while expire cuts a write.
const expiring = -1

// NewWriteDeadline returns the WriteDeadline of the response that is written to w.
func NewWriteDeadline(w http.ResponseWriter) *WriteDeadline {
	d := &WriteDeadline{w: w, made: time.Now(), expired: make(chan struct{})}
	d.timer = time.AfterFunc(WriteTimeout, d.check)
	d.timer.Stop()
	return d
}

// Stop stops the timer; w is not used any more.
func (d *WriteDeadline) Stop() { d.timer.Stop() }

// check sets the timer again for the rest of the current write, if there is one, or ends the write.
func (d *WriteDeadline) check() {
	d.set.Store(false) // first: a write that begins now sets it, or is seen here
	since := d.since.Load()
	if since <= 0 {
		return
	}
	if left := d.deadline(since) - d.now(); left > 0 {
		d.reset(left)
		return
	}
	if d.since.CompareAndSwap(since, expiring) {
		d.expire()
	} else {
		d.check() // it was another write
	}
}

// now returns the time, which is never 0.
func (d *WriteDeadline) now() int64 { return int64(time.Since(d.made)) + 1 }

// deadline returns when a write must end that began at since.
func (d *WriteDeadline) deadline(since int64) int64 {
	deadline := since + int64(WriteTimeout)
	if end := d.end.Load(); end != 0 {
		deadline = min(deadline, end)
	}
	return deadline
}

func (d *WriteDeadline) reset(left int64) {
	d.set.Store(true)
	d.timer.Reset(time.Duration(max(0, left)))
}

// expire makes the current write and all later ones fail.
func (d *WriteDeadline) expire() {
	// An error means that w has no deadlines, which only those of tests lack.
	_ = http.NewResponseController(d.w).SetWriteDeadline(time.Now().Add(-time.Second))
	close(d.expired)
}

// Expired reports whether the client has not accepted a write in time.
func (d *WriteDeadline) Expired() bool {
	select {
	case <-d.expired:
		return true
	default:
		return false
	}
}

// arm starts the deadline of a write, which fails at once if an earlier deadline has expired.
func (d *WriteDeadline) arm() {
	if d.Expired() {
		return
	}
	since := d.now()
	d.since.Store(since)
	if !d.set.Load() || d.end.Load() != 0 {
		d.reset(d.deadline(since) - since)
	}
}

// EndWithin bounds the current write and all later ones together.
func (d *WriteDeadline) EndWithin(limit time.Duration) {
	now := d.now()
	d.end.Store(now + int64(limit))
	if since := d.since.Load(); since > 0 {
		d.reset(d.deadline(since) - now)
	}
}

// Stalled reports whether a write has failed because the client did not read: it has expired, or net/http has closed the
// connection meanwhile.
func (d *WriteDeadline) Stalled() bool { return d.Expired() || d.stalled.Load() }

// failed is called when a write has failed, before disarm.
func (d *WriteDeadline) failed() {
	if since := d.since.Load(); since > 0 && d.now()-since > int64(stalledAfter) {
		d.stalled.Store(true)
	}
}

// disarm ends the deadline of a write. If expire has begun, disarm waits for it, so that expire does
// not use w after the handler has returned.
func (d *WriteDeadline) disarm() {
	switch since := d.since.Swap(0); {
	case since == expiring:
		<-d.expired
	case d.now()-since > int64(blockedFor):
		d.blocked.Store(true)
	}
}

// WasBlocked reports whether the client has blocked a write since the last call: then the response should hold no more than it is
// about to write.
func (d *WriteDeadline) WasBlocked() bool { return d.blocked.Load() && d.blocked.Swap(false) }

// Write writes p to out, which must lead to the client, in pieces with a deadline each.
func (d *WriteDeadline) Write(out io.Writer, p []byte) (written int, err error) {
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), writePiece)]
		p = p[len(piece):]
		var n int
		d.arm()
		if n, err = out.Write(piece); err != nil {
			d.failed()
		}
		d.disarm()
		written += n
	}
	return written, err
}

// Flush sends the bytes that have been written.
func (d *WriteDeadline) Flush() error {
	d.arm()
	defer d.disarm()
	err := http.NewResponseController(d.w).Flush()
	if err != nil {
		d.failed()
	}
	return err
}

// Close closes out, which must lead to the client.
func (d *WriteDeadline) Close(out io.Closer) error {
	d.arm()
	defer d.disarm()
	return out.Close()
}
