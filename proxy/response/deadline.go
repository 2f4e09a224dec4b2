package response

import (
	"net/http"
	"time"
)

// WriteDeadline limits how long a client may take to accept a write. Between writes there is no
// deadline: a quiet watch is not a slow client.
//
// It uses a timer instead of a deadline of the connection around each write, because over HTTP/2
// setting a deadline costs a message to the goroutine of the connection.
type WriteDeadline struct {
	timeout time.Duration
	timer   *time.Timer
	expired chan struct{} // closed when a deadline has expired
}

// NewWriteDeadline returns the WriteDeadline of the response that is written to w.
func NewWriteDeadline(w http.ResponseWriter, timeout time.Duration) *WriteDeadline {
	d := &WriteDeadline{timeout: timeout, expired: make(chan struct{})}
	d.timer = time.AfterFunc(timeout, func() {
		// This makes the current write and all later ones fail. An error means that w has no deadlines,
		// which only those of tests lack.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(-time.Second))
		close(d.expired)
	})
	d.timer.Stop()
	return d
}

// Arm starts the deadline of a write, which fails at once if an earlier deadline has expired. Disarm
// must follow the write.
func (d *WriteDeadline) Arm() {
	if !d.Expired() {
		d.timer.Reset(d.timeout)
	}
}

// Disarm ends the deadline of a write. After it returns, the ResponseWriter is not used until the next
// Arm.
func (d *WriteDeadline) Disarm() {
	if !d.timer.Stop() {
		<-d.expired
	}
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
