package serve

import (
	"io"
	"net/http"
	"time"
)

// patience writes to a client that must take what it is given in time. Between
// writes there is no limit: a quiet watch is not a slow one.
//
// A timer of its own watches over the writes. Deadlines of the connection would
// have to be set and cleared around each, which over HTTP/2 is a message to the
// connection's own goroutine.
type patience struct {
	w     http.ResponseWriter
	timer *time.Timer
	ended chan struct{} // closed when the client was given up
}

// patient returns the patience for one answer.
func patient(w http.ResponseWriter) *patience {
	c := &patience{w: w, ended: make(chan struct{})}
	c.timer = time.AfterFunc(writeTimeout, c.giveUp)
	c.timer.Stop()
	return c
}

// giveUp makes the write under way fail, and all that follow. Writers without
// deadlines are those of tests.
func (c *patience) giveUp() {
	_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(-time.Second))
	close(c.ended)
}

// hurry begins the time for a write, unless the client was given up: it fails
// by then.
func (c *patience) hurry() {
	select {
	case <-c.ended:
	default:
		c.timer.Reset(writeTimeout)
	}
}

// relax ends the time. If it was up, relax waits until the client has been
// given up, so that this does not happen behind the handler's back.
func (c *patience) relax() {
	if !c.timer.Stop() {
		<-c.ended
	}
}

// write writes p to out, which leads to the client, in pieces each of which has
// its time.
func (c *patience) write(out io.Writer, p []byte) error {
	for len(p) > 0 {
		piece := p[:min(len(p), writePiece)]
		p = p[len(piece):]
		c.hurry()
		_, err := out.Write(piece)
		c.relax()
		if err != nil {
			return err
		}
	}
	return nil
}

// flush sends what has been written.
func (c *patience) flush() error {
	c.hurry()
	defer c.relax()
	return http.NewResponseController(c.w).Flush()
}

// close closes out, which leads to the client.
func (c *patience) close(out io.Closer) error {
	c.hurry()
	defer c.relax()
	return out.Close()
}
