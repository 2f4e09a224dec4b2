package connections

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

//lint:file-ignore SA1019 net/http itself serves HTTP/2 over a *tls.Conn only, which shows no frames

// ServeHTTP2 makes a server count the streams of the connections of a listener of a Limiter. net/http answers some
// requests itself, without a handler, and keeps them until the client accepts that. The server must have its TLSConfig,
// HTTP2, ConnState and IdleTimeout.
func ServeHTTP2(s *http.Server) error {
	h2 := &http2.Server{}
	if err := http2.ConfigureServer(s, h2); err != nil {
		return err
	}
	// framed ends idle connections. The timer of http2.Server starts again when a connection closes with open streams, and
	// holds the connection until it fires.
	h2.IdleTimeout = 0
	if track := s.ConnState; track != nil {
		s.ConnState = func(c net.Conn, state http.ConnState) {
			if f, ok := c.(*framed); ok {
				c = f.Conn
			}
			track(c, state)
		}
	}
	s.TLSNextProto[http2.NextProtoTLS] = func(s *http.Server, c *tls.Conn, h http.Handler) {
		o := &http2.ServeConnOpts{BaseConfig: s, Handler: direct{h, s.Handler}}
		if h, ok := h.(interface{ BaseContext() context.Context }); ok {
			o.Context = h.BaseContext()
		}
		h2.ServeConn(observed(c, s), o)
	}
	return nil
}

// direct is the handler of a connection. It leaves out what net/http puts before the server's handler, unless a request needs
// that: it would take so much of the stack of each handler that a stack of 16 KiB, which many need for a moment, would never
// shrink.
type direct struct{ fallback, server http.Handler }

// ServeHTTP implements http.Handler.
func (d direct) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.server == nil || r.TLS == nil || r.RequestURI == "*" {
		d.fallback.ServeHTTP(w, r)
		return
	}
	d.server.ServeHTTP(w, r)
}

// defaultStreams is how many streams a connection of a server may have that states no limit.
const defaultStreams = 250

// observed returns a connection whose frames count, if c is counted.
func observed(c *tls.Conn, s *http.Server) net.Conn {
	counted := unwrap(c)
	if counted == nil {
		return c
	}
	headers := int64(cmp.Or(s.MaxHeaderBytes, http.DefaultMaxHeaderBytes))
	counted.received.http2.Store(true)
	counted.mu.Lock()
	defer counted.mu.Unlock()
	limit := defaultStreams
	if s.HTTP2 != nil {
		limit = cmp.Or(s.HTTP2.MaxConcurrentStreams, limit)
	}
	counted.received.streams = newStreams(&counted.mu, limit, streamBytes+listExpansion*headers)
	_ = counted.count() // takes no more than before
	f := &framed{Conn: c, counted: counted, idleTimeout: s.IdleTimeout, received: frame{payload: len(http2.ClientPreface)}}
	if s.IdleTimeout > 0 {
		_ = c.SetReadDeadline(time.Now().Add(s.IdleTimeout))
	}
	return f
}

// framed is an HTTP/2 connection above TLS whose frames count. It ends when it is idle.
type framed struct {
	*tls.Conn
	counted        *conn
	idleTimeout    time.Duration // 0 for none
	late           bool          // the grace has begun
	received, sent frame
	farewell       string // what the server receives before it receives more from the client
}

// Read implements net.Conn. The server asks for the next frame when it has dealt with the frame before.
func (f *framed) Read(p []byte) (int, error) {
	if err := f.counted.await(f.received.between()); err != nil {
		return 0, err
	}
	n, err := f.read(p)
	if f.counted.unwrap(n); f.counted.observe(&f.received, p[:n], (*streams).receive) {
		return 0, http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	return n, err
}

// unwrap takes note of n bytes that came out of what was received.
func (c *conn) unwrap(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received.streams.unwrap(c.received.wrapping.received.Load(), int64(n))
}

// Write implements net.Conn.
func (f *framed) Write(p []byte) (int, error) {
	n, err := f.Conn.Write(p)
	f.counted.observe(&f.sent, p[:n], (*streams).send)
	f.counted.change(func(*streams) {})
	return n, err
}

// await waits as streams.await does, within a frame only for what was short, and then counts the streams that no request counts. An
// error means that there is no memory for them.
func (c *conn) await(between bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.received.streams
	switch {
	case between && s.arrived > 0, s.pause() > 0:
		leave(&c.turn) // it would be idle
		s.await(&c.closed)
	case !between:
		return nil
	}
	return c.count()
}

// observe takes note of the frames that begin in p, and reports whether the client sends trailers. The server would keep them until
// the stream ends, whatever they take, and the API has none.
func (c *conn) observe(f *frame, p []byte, note func(*streams, *frame)) (trailers bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f.next(&p) {
		note(c.received.streams, f)
	}
	return c.received.streams.trailer
}

// frameHeader is the length of the header of a frame.
const frameHeader = 9

// frame is the last one of which the header was complete.
type frame struct {
	header  [frameHeader]byte
	have    int // bytes of the next header
	payload int // bytes to come before it
}

// next reads p until the next header is complete, and leaves the rest.
func (f *frame) next(p *[]byte) bool {
	skipped := min(f.payload, len(*p))
	f.payload -= skipped
	n := copy(f.header[f.have:], (*p)[skipped:])
	f.have += n
	*p = (*p)[skipped+n:]
	if f.have < frameHeader {
		return false
	}
	f.have, f.payload = 0, int(f.length())
	return true
}

// between reports whether the next byte begins a frame.
func (f *frame) between() bool { return f.payload == 0 && f.have == 0 }

func (f *frame) length() int64 {
	return int64(f.header[0])<<16 | int64(f.header[1])<<8 | int64(f.header[2])
}

func (f *frame) kind() http2.FrameType { return http2.FrameType(f.header[3]) }

func (f *frame) flags() http2.Flags { return http2.Flags(f.header[4]) }

func (f *frame) stream() uint32 { return binary.BigEndian.Uint32(f.header[5:]) & (1<<31 - 1) }
