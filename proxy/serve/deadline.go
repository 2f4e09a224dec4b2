package serve

import (
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// writeTimeout is how long a client may take to accept a piece of writePiece bytes: 9 KB/s.
	writeTimeout = 30 * time.Second
	writePiece   = 256 << 10
)

// deadlineWriter writes to a client that must accept each piece within writeTimeout. Between writes
// there is no deadline: a quiet watch is not a slow one.
//
// It uses a timer instead of a deadline of the connection around each write, because over HTTP/2
// setting a deadline costs a message to the goroutine of the connection.
type deadlineWriter struct {
	w       http.ResponseWriter
	timer   *time.Timer
	expired chan struct{} // closed by expire

	mu    sync.Mutex // guards what follows: endWithin runs beside writes
	armed bool
	end   time.Time // of all writes; zero for none
}

// newDeadlineWriter returns the deadlineWriter of one response.
func newDeadlineWriter(w http.ResponseWriter) *deadlineWriter {
	d := &deadlineWriter{w: w, expired: make(chan struct{})}
	d.timer = time.AfterFunc(writeTimeout, d.expire)
	d.timer.Stop()
	return d
}

// expire makes the current write and all later ones fail.
func (d *deadlineWriter) expire() {
	// An error means that w has no deadlines, which only those of tests lack.
	_ = http.NewResponseController(d.w).SetWriteDeadline(time.Now().Add(-time.Second))
	close(d.expired)
}

// arm starts the deadline of a write, which fails at once if an earlier deadline has expired.
func (d *deadlineWriter) arm() {
	select {
	case <-d.expired:
		return
	default:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	limit := writeTimeout
	if !d.end.IsZero() {
		limit = min(limit, max(0, time.Until(d.end)))
	}
	d.armed = true
	d.timer.Reset(limit)
}

// endWithin bounds the current write and all later ones together. It may be called at any time.
func (d *deadlineWriter) endWithin(limit time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end = time.Now().Add(limit)
	if d.armed && d.timer.Stop() {
		d.timer.Reset(limit)
	}
}

// disarm ends the deadline of a write. If expire has begun, disarm waits for it, so that expire does
// not use w after the handler has returned.
func (d *deadlineWriter) disarm() {
	d.mu.Lock()
	d.armed = false
	stopped := d.timer.Stop()
	d.mu.Unlock()
	if !stopped {
		<-d.expired
	}
}

// write writes p to out, which must lead to the client, in pieces with a deadline each.
func (d *deadlineWriter) write(out io.Writer, p []byte) error {
	for len(p) > 0 {
		piece := p[:min(len(p), writePiece)]
		p = p[len(piece):]
		d.arm()
		_, err := out.Write(piece)
		d.disarm()
		if err != nil {
			return err
		}
	}
	return nil
}

// flush sends what has been written.
func (d *deadlineWriter) flush() error {
	d.arm()
	defer d.disarm()
	return http.NewResponseController(d.w).Flush()
}

// close closes out, which must lead to the client.
func (d *deadlineWriter) close(out io.Closer) error {
	d.arm()
	defer d.disarm()
	return out.Close()
}
