package flowcontrol

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/proxy/accounts"
	"sluice/proxy/request"
)

const (
	// patience is how long a connection may wait for its client, before its first authenticated request,
	// until it makes room for another, and a response for others whose buffers need its memory: more than a way there and
	// back to clients far away.
	patience = 250 * time.Millisecond
	// answerPatience is patience for a client that has been answered, above all the first message of its handshake: what
	// both have computed would be lost, and the clients of a crowd may share a processor.
	answerPatience = 5 * time.Second
	// introduction is how long a connection has for its first authenticated request before it makes room
	// even if its client sends something now and then.
	introduction = 10 * time.Second
	// introducing is how many strangers Sluice works on at a time, from the handshake to the first request. The
	// others wait where they cost nothing, so that a crowd does not wait longer than its clients are patient.
	introducing = 256
)

// Connections counts connections. One is silent until its client sends something, a stranger's until its first
// authenticated request, and its user's from then on. When there are too many strangers, those that wait for their
// clients make room for new ones, so that callers without credentials keep nobody out; while many are busy, new
// connections wait.
type Connections struct {
	ledger *accounts.Ledger

	mu        sync.Mutex // guards what follows
	strangers map[*conn]struct{}
}

// NewConnections returns Connections that are counted in a Ledger.
func NewConnections(l *accounts.Ledger) *Connections {
	return &Connections{ledger: l, strangers: map[*conn]struct{}{}}
}

// conn is a counted connection.
type conn struct {
	net.Conn
	connections *Connections
	address     accounts.Key
	since       time.Time    // it is a stranger's
	reading     atomic.Int64 // since when its client is waited for, after since; 0 if it is not
	requests    atomic.Int64 // in progress
	waiting     atomic.Int64 // those of them that wait for more of their bodies
	rested      atomic.Int64 // when the last request ended, after since
	answered    atomic.Bool  // Sluice has sent something
	received    received

	mu     sync.Mutex      // guards what follows
	grant  *accounts.Grant // of a silent client, then of the stranger, then of the user
	known  bool            // it counts for user
	user   accounts.Account
	closed bool
}

func (c *Connections) conn(accepted net.Conn) *conn {
	return &conn{
		Conn: accepted, connections: c,
		address: accounts.ByAddress(request.AddressKey(accepted.RemoteAddr().String())),
	}
}

// crowded reports whether Sluice works on as many strangers as it does at a time.
func (c *Connections) crowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.strangers) < introducing {
		return false
	}
	working := 0
	for s := range c.strangers {
		if s.working() {
			working++
		}
	}
	return working >= introducing
}

// met removes a connection that is no stranger's any more.
func (c *Connections) met(s *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.strangers, s)
}

// admit counts the connection as a stranger's, and reports whether there is room.
func (c *conn) admit() bool {
	if c.connections.crowded() {
		return false
	}
	c.since = time.Now()
	g, err := c.connections.ledger.Account(c.address).TakeWhileBusy(accounts.Strangers, 1, c.busy, c.evict)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		g.Release()
		return true // its handshake fails
	}
	c.grant.Release()
	c.grant = g
	c.connections.mu.Lock()
	defer c.connections.mu.Unlock()
	c.connections.strangers[c] = struct{}{}
	return true
}

// working reports whether Sluice and the client work towards the first request: Sluice on the handshake or on a header, or the
// client on what it has been answered. Requests in progress have limits of their own.
func (c *conn) working() bool {
	if c.requests.Load() > 0 {
		return false
	}
	reading := time.Duration(c.reading.Load())
	if reading > 0 && !c.answered.Load() { // thousands a second may send a byte and no more
		return false
	}
	age := time.Since(c.since)
	return age <= introduction && (reading == 0 || age-reading < patience)
}

// busy reports whether the connection need not make room: it does not wait for its client, or has just begun to.
func (c *conn) busy() bool {
	age, reading, most := time.Since(c.since), time.Duration(c.reading.Load()), patience
	if c.answered.Load() {
		most = answerPatience
	}
	return age <= introduction && (c.requests.Load() > c.waiting.Load() || reading == 0 || age-reading < most)
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if !c.answered.Load() {
		c.answered.Store(true)
	}
	return c.Conn.Write(p)
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.reading.Store(max(1, int64(time.Since(c.since))))
	n, err := c.Conn.Read(p)
	c.reading.Store(0)
	if err == nil {
		err = c.receive(n)
	}
	return n, err
}

// evict closes the connection in favor of others.
func (c *conn) evict() { go func() { _ = c.Close() }() }

// assign makes the connection count for a user, unless it already counts for one. The error is an
// *accounts.Refused, or net.ErrClosed for a connection that has been evicted: its client could not
// receive the response.
func (c *conn) assign(a accounts.Account) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known || c.closed || c.grant == nil {
		if c.grant.Ended() {
			return net.ErrClosed
		}
		return nil
	}
	g, err := a.TakeRevocable(accounts.Connections, 1, c.evict)
	if err != nil {
		return err
	}
	c.grant.Release()
	c.received.release()
	c.grant, c.known, c.user = g, true, a
	c.connections.met(c)
	return c.count()
}

// stranger reports whether the connection has had no authenticated request.
func (c *conn) stranger() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.known
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.grant.Release()
	c.received.release()
	c.mu.Unlock()
	c.connections.met(c)
	return c.Conn.Close()
}

// WithConnection is a filter before authentication: while it runs, the connection waits for Sluice, and
// not for its client.
func WithConnection(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connFrom(r.Context()); c != nil {
			c.begin(r)
			defer c.end(r)
			if r.Body != nil && r.Body != http.NoBody {
				r.Body = &awaitedBody{r.Body, c}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// awaitedBody is the body of a request that waits for its client while it is read.
type awaitedBody struct {
	io.ReadCloser
	conn *conn
}

// Read implements io.Reader.
func (b *awaitedBody) Read(p []byte) (int, error) {
	b.conn.waiting.Add(1)
	defer b.conn.waiting.Add(-1)
	return b.ReadCloser.Read(p)
}

type connKey struct{}

// ConnContext makes the connection known to WithFlowControl. It fits http.Server.ConnContext. A TLS handshake must be
// complete.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	counted := unwrap(c)
	if encrypted, ok := c.(*tls.Conn); counted != nil && (!ok || encrypted.ConnectionState().NegotiatedProtocol != "h2") {
		counted.received.http1.Store(true)
	}
	return context.WithValue(ctx, connKey{}, counted)
}

// unwrap returns the counted connection inside c, or nil.
func unwrap(c net.Conn) *conn {
	for {
		switch x := c.(type) {
		case *conn:
			return x
		case interface{ NetConn() net.Conn }:
			c = x.NetConn()
		default:
			return nil
		}
	}
}

// NetConn returns the connection that is counted, as that of tls.Conn does.
func (c *conn) NetConn() net.Conn { return c.Conn }

// connFrom returns nil for a connection that is not counted.
func connFrom(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
