package connect

import (
	"bytes"
	"io"
	"net"
	"net/http"
)

// hijack takes over the connection of a CONNECT, with the bytes that its client has sent right after it.
func hijack(w http.ResponseWriter) (net.Conn, error) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if n := rw.Reader.Buffered(); n > 0 {
		early, _ := rw.Reader.Peek(n) // cannot fail: they are buffered
		conn = &earlyConn{Conn: conn, early: bytes.NewReader(bytes.Clone(early))}
	}
	return conn, nil
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
