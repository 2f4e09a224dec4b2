package limits

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is a connection of a Listener.
type Conn struct {
	net.Conn
	listener *Listener
	address  string
	first    [1]byte // what its client has said first
	heard    bool    // Read has yet to return that; of the goroutine that reads

	since    time.Time    // when it was accepted, and then when it got its place
	reading  atomic.Int64 // since when its client is waited for, after since; 0 if it is not
	requests atomic.Int64 // in progress
	used     atomic.Bool  // there was a request
	known    atomic.Bool  // it counts for a caller
	shaking  bool         // a handshake runs; of the goroutine of the handshake
	received int          // bytes of the handshake

	slot atomic.Pointer[func()] // gives its place of Listener.cpu back; nil while it has none
	ctx  context.Context        // ends when it closes
	end  context.CancelFunc

	leave   func()        // gives the place back
	late    *time.Timer   // closes it without a request
	element *list.Element // in Listener.unauthenticated; nil if it is not there. Listener.mu guards it

	mu     sync.Mutex // guards what follows
	hold   *Hold      // of its caller
	closed bool

	by Caller // if known
}

func (l *Listener) newConn(c net.Conn) *Conn {
	n := &Conn{Conn: c, listener: l, address: addressOf(c.RemoteAddr().String())}
	n.ctx, n.end = context.WithCancel(l.Context())
	return n
}

// busy reports whether the connection is being served, or has just begun to wait for its client.
func (c *Conn) busy() bool {
	age, reading := time.Since(c.since), time.Duration(c.reading.Load())
	return age < servedFor && (c.requests.Load() > 0 || reading == 0 || age-reading < patience)
}

// rest gives the processor back.
func (c *Conn) rest() {
	if leave := c.slot.Swap(nil); leave != nil {
		(*leave)()
	}
}

// Read implements net.Conn. On an unauthenticated connection it takes a place of a processor, until the next Read, Write or
// request, or for slotFor at most.
func (c *Conn) Read(p []byte) (int, error) {
	c.rest()
	if c.known.Load() {
		return c.Conn.Read(p)
	}
	if c.shaking && c.received > maxHandshake {
		return 0, errLongHandshake
	}
	c.reading.Store(max(1, int64(time.Since(c.since))))
	n, err := c.receive(p)
	c.reading.Store(0)
	if c.shaking {
		c.received += n
	}
	if n > 0 && !c.known.Load() { // a request may have made it known meanwhile
		leave, ended := c.listener.cpu.Enter(c.ctx, Caller{Group: c.address}, 1)
		if ended != nil {
			return 0, ended
		}
		time.AfterFunc(slotFor, leave) // net/http reads a byte ahead while a request runs
		if c.slot.Store(&leave); c.ctx.Err() != nil {
			c.rest() // Close may have come before
		}
	}
	return n, err
}

// receive reads, first of all the byte that was read before the connection had its place.
func (c *Conn) receive(p []byte) (int, error) {
	if c.heard && len(p) > 0 {
		c.heard = false
		return copy(p, c.first[:]), nil
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	c.rest()
	return c.Conn.Write(p)
}

// cut ends the connection in favor of others, without waiting for its server.
func (c *Conn) cut() {
	c.listener.leave(c)
	go func() { _ = c.Conn.Close() }()
}

// closeUnused closes the connection unless it had a request.
func (c *Conn) closeUnused() {
	if !c.used.Load() {
		c.cut()
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.end()
	c.rest()
	c.listener.leave(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.hold.Release()
	return c.Conn.Close()
}

// NetConn returns the connection inside, as that of tls.Conn does.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// authenticated makes the connection count for a caller, unless it counts for one.
func (c *Conn) authenticated(by Caller) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known.Load() || c.closed {
		return nil
	}
	m := c.listener.options.Memory
	h, err := m.Users.TakeUntil(by, m.ConnectionBytes, c.cut)
	if err != nil {
		return err
	}
	c.hold, c.by = h, by
	c.known.Store(true)
	c.listener.leave(c)
	return nil
}

type connKey struct{}

// ConnContext makes the connection known to its requests. It fits http.Server.ConnContext.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connOf(c))
}

// connOf returns the connection of a Listener inside c, or nil.
func connOf(c net.Conn) *Conn {
	for {
		switch x := c.(type) {
		case *Conn:
			return x
		case interface{ NetConn() net.Conn }:
			c = x.NetConn()
		default:
			return nil
		}
	}
}

// connFrom returns nil for a request whose connection is not of a Listener.
func connFrom(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// served is a filter before authentication, by which an unauthenticated connection is busy during a request.
func served(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connFrom(r.Context()); c != nil && !c.known.Load() {
			c.used.Store(true)
			c.rest()
			c.requests.Add(1)
			defer c.requests.Add(-1)
		}
		next.ServeHTTP(w, r)
	})
}

// Authenticated makes the connection of a request count for a caller from now on, unless it counts for one already. The
// error is a *Refused.
func Authenticated(ctx context.Context, c Caller) error {
	if conn := connFrom(ctx); conn != nil {
		return conn.authenticated(c)
	}
	return nil
}

// CallerOf returns the caller for which the connection of a request counts, and false before its first authenticated request.
func CallerOf(ctx context.Context) (c Caller, known bool) {
	conn := connFrom(ctx)
	if conn == nil || !conn.known.Load() {
		return Caller{}, false
	}
	return conn.by, true
}

// EndUnauthenticated makes a response the last one of its connection, if that had no authenticated request: each further
// request to refuse costs a handshake then. An HTTP/2 server sends GOAWAY.
func EndUnauthenticated(w http.ResponseWriter, r *http.Request) {
	if c := connFrom(r.Context()); c != nil && !c.known.Load() {
		w.Header().Set("Connection", "close")
	}
}
