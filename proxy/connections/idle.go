package connections

import (
	"errors"
	"os"
	"time"

	"golang.org/x/net/http2"
)

// goAway is a frame of a client that opens no more streams.
const goAway = "\x00\x00\x08\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00"

// grace is how long an idle connection waits for the rest of a frame or header. It is less than the server waits for the
// answer to a PING, which the client cannot send inside a frame.
const grace = 10 * time.Second

// read reads from the client, and on behalf of an idle one GOAWAY: only a client can make the server end one connection in
// order. The server then sends GOAWAY, with the last stream that it has received, answers what it has received, and closes.
// A request that the client has sent meanwhile is not handled, and the client sends it again on another connection. A
// request that has arrived in part has the grace once; after that GOAWAY says that it is not handled.
func (f *framed) read(p []byte) (int, error) {
	for len(f.farewell) == 0 {
		n, err := f.Conn.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		rest := f.idleTimeout - f.counted.idle()
		switch {
		case rest > 0:
			f.late = false
		case !f.received.incomplete():
			f.farewell, rest = goAway, f.idleTimeout
		case f.late:
			return 0, http2.ConnectionError(http2.ErrCodeEnhanceYourCalm) // the server closes however many streams are open
		default:
			f.late, rest = true, grace
		}
		_ = f.SetReadDeadline(time.Now().Add(rest))
	}
	n := copy(p, f.farewell)
	f.farewell = f.farewell[n:]
	return n, nil
}

// incomplete reports whether more of a frame, or of a header, must come.
func (f *frame) incomplete() bool {
	header := f.kind() == http2.FrameHeaders || f.kind() == http2.FrameContinuation
	return !f.between() || header && !f.flags().Has(http2.FlagHeadersEndHeaders)
}

// idle returns for how long no request has been in progress.
func (c *conn) idle() time.Duration {
	if c.requests.Load() > 0 {
		return 0
	}
	return time.Since(c.since) - time.Duration(c.rested.Load())
}
