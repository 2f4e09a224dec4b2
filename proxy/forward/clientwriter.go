package forward

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// writeWithin is how long a response may be written that has a place at the apiserver: as long as the apiserver itself, by
// default, serves a request that does not last.
const writeWithin = time.Minute

// clientWriter writes a response to a client, with a deadline for each write: ReverseProxy copies
// pieces of up to 16 KiB. Only one goroutine at a time may write or flush.
type clientWriter struct {
	http.ResponseWriter
	ctx      context.Context // of the request upstream
	info     *request.Info
	deadline *response.WriteDeadline
	joined   *bufio.Writer // joins the pieces of a list or an object; nil for a stream
	failed   bool          // a write has failed
	evicted  atomic.Bool   // the response was ended in favor of others
}

func newClientWriter(ctx context.Context, w http.ResponseWriter, info *request.Info) *clientWriter {
	return &clientWriter{ResponseWriter: w, ctx: ctx, info: info, deadline: response.NewWriteDeadline(w)}
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (c *clientWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Hijack implements http.Hijacker. The connection closes when the request upstream ends: its client may read nothing.
func (c *clientWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err == nil {
		context.AfterFunc(c.ctx, func() { _ = conn.Close() })
	}
	return conn, rw, err
}

// WriteHeader flushes the headers of a stream at once. The client of a watch or a log then sees that the stream is open
// before the first byte arrives, and a stream that ends without one keeps the framing of a stream. The header of a list goes
// with its beginning, in one packet.
func (c *clientWriter) WriteHeader(code int) {
	if !flowcontrol.Lasts(c.info) {
		c.deadline.EndWithin(writeWithin)
	}
	c.ResponseWriter.WriteHeader(code)
	switch {
	case isWhole(code, c.Header(), c.info):
		c.joined = joiners.Get().(*bufio.Writer)
		c.joined.Reset(unjoined{c})
	case code == http.StatusOK && c.Header().Get("Content-Length") == "":
		_ = c.FlushError() // the first write returns the same error
	}
}

func (c *clientWriter) Write(p []byte) (int, error) {
	if c.joined != nil {
		return c.joined.Write(p)
	}
	return unjoined{c}.Write(p)
}

// unjoined writes to the client at once.
type unjoined struct{ *clientWriter }

func (c unjoined) Write(p []byte) (int, error) {
	n, err := c.deadline.Write(c.ResponseWriter, p)
	c.failed = c.failed || err != nil
	return n, err
}

// endOf returns how a watch has ended, whose response the apiserver has ended itself if it is whole; empty if it never began.
func (c *clientWriter) endOf(w *request.PassedWatch, whole bool) request.WatchEnd {
	select {
	case <-w.Ended.Done():
		return w.How
	default:
	}
	select {
	case <-w.Opened.Done():
	default:
		return ""
	}
	switch {
	case c.evicted.Load():
		return request.Failed
	case c.deadline.Stalled():
		return request.ClientStalled
	case w.Expired: // which its client may have closed
		return request.Expired
	case c.failed || c.ctx.Err() != nil:
		return request.ClientClosed
	case whole:
		return request.Timeout
	}
	return request.APIServerAway
}

// FlushError implements the method that http.ResponseController.Flush calls.
func (c *clientWriter) FlushError() error {
	if c.joined != nil {
		if err := c.joined.Flush(); err != nil {
			return err
		}
	}
	return c.deadline.Flush()
}

// end writes the rest of a response. If that fails, it panics as ReverseProxy does, so that the response does not look
// complete.
func (c *clientWriter) end() {
	if c.joined == nil {
		return
	}
	if err := c.joined.Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
	c.joined.Reset(nil)
	joiners.Put(c.joined)
}

// joiners join the pieces of lists and objects.
var joiners = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, copyBufferSize) }}

// copyBuffers are the buffers with which ReverseProxy copies responses: it would allocate one for each,
// which is most of the memory of a small response.
type copyBuffers struct{ pool sync.Pool }

// copyBufferSize is that of a frame. A list has one such buffer to read and one to join; more at a time saves no CPU.
const copyBufferSize = response.FramePayload

// Get implements httputil.BufferPool.
func (b *copyBuffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[copyBufferSize]byte); ok {
		return buf[:]
	}
	return make([]byte, copyBufferSize)
}

// Put implements httputil.BufferPool.
func (b *copyBuffers) Put(buf []byte) { b.pool.Put((*[copyBufferSize]byte)(buf)) }
