package abuse

import (
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	maxFrame    = 16 << 10 // the least that a server must accept
	firstWindow = 1<<16 - 1
)

// conn is an HTTP/2 connection. One goroutine reads, any may write.
type conn struct {
	net.Conn
	framer *http2.Framer

	mu   sync.Mutex // guards writes and next
	next uint32     // stream
}

// newConn begins HTTP/2 on a TLS connection. The window is what the server may send on each stream before it is
// granted more.
func newConn(c net.Conn, window uint32) (*conn, error) {
	x := &conn{Conn: c, framer: http2.NewFramer(c, c), next: 1}
	x.framer.SetReuseFrames()
	x.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := c.Write([]byte(http2.ClientPreface)); err != nil {
		return nil, err
	}
	return x, x.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
}

// open begins a request, whose header is in the form of field, and returns its stream.
func (c *conn) open(header []byte, end bool) (stream uint32, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stream = c.next
	c.next += 2
	piece := header[:min(len(header), maxFrame)]
	header = header[len(piece):]
	err = c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: piece, EndStream: end, EndHeaders: len(header) == 0,
	})
	for len(header) > 0 && err == nil {
		piece = header[:min(len(header), maxFrame)]
		header = header[len(piece):]
		err = c.framer.WriteContinuation(stream, len(header) == 0, piece)
	}
	return stream, err
}

// write sends a part of a body.
func (c *conn) write(stream uint32, p []byte) error {
	return c.locked(func() error { return c.framer.WriteData(stream, false, p) })
}

// grant lets the server send n more bytes on a stream; 0 is the connection.
func (c *conn) grant(stream uint32, n int) error {
	return c.locked(func() error { return c.framer.WriteWindowUpdate(stream, uint32(n)) })
}

// answer is a part of a response.
type answer struct {
	stream uint32
	code   string // of a header, or Reset; empty for data
	data   []byte // valid until the next read
	end    bool
}

// read returns the next part of a response. It answers what the protocol requires.
func (c *conn) read() (answer, error) {
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return answer{}, err
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return answer{stream: f.StreamID, code: f.PseudoValue("status"), end: f.StreamEnded()}, nil
		case *http2.DataFrame:
			return answer{stream: f.StreamID, data: f.Data(), end: f.StreamEnded()}, nil
		case *http2.RSTStreamFrame:
			return answer{stream: f.StreamID, code: Reset, end: true}, nil
		case *http2.GoAwayFrame:
			return answer{}, net.ErrClosed
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = c.locked(c.framer.WriteSettingsAck)
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				err = c.locked(func() error { return c.framer.WritePing(true, f.Data) })
			}
		}
		if err != nil {
			return answer{}, err
		}
	}
}

// take reads the next part of a response and lets the server send as much again, on the stream only if all is read at once.
func (c *conn) take(slowly bool) (answer, error) {
	a, err := c.read()
	if n := len(a.data); err == nil && n > 0 {
		err = c.grant(0, n)
		if err == nil && !slowly && !a.end {
			err = c.grant(a.stream, n)
		}
	}
	return a, err
}

// locked writes.
func (c *conn) locked(write func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return write()
}

// field appends a header field in HPACK's form that neither side keeps (RFC 7541, section 6.2.2).
func field(dst []byte, name, value string) []byte {
	dst = append(dst, 0)
	dst = text(dst, name)
	return text(dst, value)
}

// text appends a string without compression.
func text(dst []byte, s string) []byte {
	const prefix = 1<<7 - 1
	n := len(s)
	if n < prefix {
		return append(append(dst, byte(n)), s...)
	}
	dst = append(dst, prefix)
	for n -= prefix; n >= 1<<7; n >>= 7 {
		dst = append(dst, byte(n)|1<<7)
	}
	return append(append(dst, byte(n)), s...)
}

// request returns the header of a request.
func (c *conn) request(method, path string, fields map[string]string) []byte {
	h := field(nil, ":method", method)
	h = field(h, ":scheme", "https")
	h = field(h, ":authority", c.RemoteAddr().String())
	h = field(h, ":path", path)
	for name, value := range fields {
		h = field(h, name, value)
	}
	return h
}
