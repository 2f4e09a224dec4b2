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
	// introduction is how long a connection has for its first authenticated request before it makes room
	// even if its client sends something now and then.
	introduction = 10 * time.Second
	// introducing is how many strangers Sluice works on at a time, from the handshake to the first request. The
	// others wait where they cost nothing, so that a crowd does not wait longer than its clients are patient.
	introducing = 256
	// acceptEvery is how often a listener looks whether there is room for the connection it has accepted.
	acceptEvery = 10 * time.Millisecond
)

// Connections counts connections. One is a stranger's until its first authenticated request, and its
// user's from then on. When there are too many strangers, those that wait for their clients make room for
// new ones, so that callers without credentials keep nobody out; while many are busy, new connections wait.
type Connections struct {
	ledger *accounts.Ledger

	mu        sync.Mutex // guards what follows
	strangers map[*conn]struct{}
}

// NewConnections returns Connections that are counted in a Ledger.
func NewConnections(l *accounts.Ledger) *Connections {
	return &Connections{ledger: l, strangers: map[*conn]struct{}{}}
}

// Listener returns a listener that counts the connections of l. A connection that another listener of the
// same Connections has accepted is counted already, even if it is wrapped. The server must have
// ConnContext as its http.Server.ConnContext.
func (c *Connections) Listener(l net.Listener) net.Listener {
	return &listener{Listener: l, connections: c, closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	connections *Connections
	once        sync.Once
	closed      chan struct{}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if counted := unwrap(accepted); counted != nil && counted.connections == l.connections {
		return accepted, nil
	}
	c := l.connections.conn(accepted)
	var again *time.Ticker
	for !c.admit() {
		if again == nil {
			again = time.NewTicker(acceptEvery)
			defer again.Stop()
		}
		select {
		case <-l.closed:
			_ = accepted.Close()
			return nil, net.ErrClosed
		case <-again.C:
		}
	}
	return c, nil
}

// conn is a counted connection.
type conn struct {
	net.Conn
	connections *Connections
	address     accounts.Key
	since       time.Time
	reading     atomic.Int64 // since when its client is waited for, after since; 0 if it is not
	requests    atomic.Int64 // in progress
	waiting     atomic.Int64 // those of them that wait for more of their bodies
	rested      atomic.Int64 // when the last request ended, after since
	received    received

	mu     sync.Mutex      // guards what follows
	grant  *accounts.Grant // of the stranger, then of the user
	known  bool            // it counts for user
	user   accounts.Account
	closed bool
}

func (c *Connections) conn(accepted net.Conn) *conn {
	return &conn{
		Conn: accepted, connections: c, since: time.Now(),
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
	g, err := c.connections.ledger.Account(c.address).TakeWhileBusy(accounts.Strangers, 1, c.busy, c.evict)
	if err != nil {
		return false
	}
	c.mu.Lock()
	c.grant = g
	c.mu.Unlock()
	c.connections.mu.Lock()
	defer c.connections.mu.Unlock()
	c.connections.strangers[c] = struct{}{}
	return true
}

// working reports whether Sluice works on the connection before its first request: on the handshake, or on a header. Requests
// in progress have limits of their own.
func (c *conn) working() bool {
	return time.Since(c.since) <= introduction && c.requests.Load() == 0 && c.reading.Load() == 0
}

// busy reports whether the connection need not make room: it does not wait for its client, or has just begun to.
func (c *conn) busy() bool {
	age, reading := time.Since(c.since), time.Duration(c.reading.Load())
	return age <= introduction && (c.requests.Load() > c.waiting.Load() || reading == 0 || age-reading < patience)
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
