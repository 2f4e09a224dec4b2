package connect

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"time"
)

// hijacker is an http.ResponseWriter whose Hijack keeps the bytes that a client sent right after its
// CONNECT: goproxy drops the buffer that they are in.
type hijacker struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if n := rw.Reader.Buffered(); n > 0 {
		early, _ := rw.Reader.Peek(n) // cannot fail: they are buffered
		conn = &earlyConn{Conn: conn, early: bytes.NewReader(bytes.Clone(early))}
	}
	// For the refusals that goproxy writes. An accepted connection gets another.
	return conn, rw, conn.SetWriteDeadline(time.Now().Add(replyTimeout))
}

// earlyConn is a connection that is read from a buffer first.
type earlyConn struct {
	net.Conn
	early *bytes.Reader
}

// Read implements net.Conn.
func (c *earlyConn) Read(p []byte) (int, error) {
	if n, err := c.early.Read(p); err != io.EOF {
		return n, err
	}
	return c.Conn.Read(p)
}

// NetConn returns the wrapped connection, as that of tls.Conn does.
func (c *earlyConn) NetConn() net.Conn { return c.Conn }
