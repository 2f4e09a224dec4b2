package connect

import (
	"bufio"
	"bytes"
	"io"
	"net"
)

// earlyConn is a connection whose client sent its first bytes right after its CONNECT.
type earlyConn struct {
	net.Conn
	early *bytes.Reader
}

// withEarly returns a connection that is read from the buffered bytes first.
func withEarly(conn net.Conn, buffered *bufio.Reader) net.Conn {
	n := buffered.Buffered()
	if n == 0 {
		return conn
	}
	early, _ := buffered.Peek(n) // cannot fail: they are buffered
	return &earlyConn{Conn: conn, early: bytes.NewReader(early)}
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
