package connections

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"sluice/proxy/accounts"
	"sluice/proxy/queue"
	"sluice/proxy/request"
)

const (
	// patience is how long a connection may wait for its client, before its first authenticated request,
	// until it makes room for another: more than a way there and back to clients far away.
	patience = 250 * time.Millisecond
	// answerPatience is patience for a client that has been answered, above all the first message of its handshake: what
	// both have computed would be lost, and the clients of a crowd may share a processor.
	answerPatience = 5 * time.Second
	// introduction is how long a connection has for its first authenticated request before it makes room
	// even if its client sends something now and then, and before that as long to send something.
	introduction = 10 * time.Second
	// longestTurn bounds a turn of a stranger, even if its goroutine still computes or blocks.
	longestTurn = 50 * time.Millisecond
)

// conn is a counted connection.
type conn struct {
	net.Conn
	limiter  *Limiter
	address  accounts.Key
	place    atomic.Pointer[queue.Ticket] // of the stranger, at the door
	entry    atomic.Pointer[queue.Ticket] // until its first request
	turn     atomic.Pointer[queue.Ticket] // of a stranger whose received bytes are processed
	overdue  *time.Timer                  // ends the turn; nil without one
	since    time.Time                    // it is a stranger's
	reading  atomic.Int64                 // since when its client is waited for, after since; 0 if it is not
	writing  atomic.Int64                 // the same of a client that accepts what Sluice sends
	requests atomic.Int64                 // in progress
	waiting  atomic.Int64                 // those of them that wait for more of their bodies
	yielding atomic.Int64                 // those of them that yield
	rested   atomic.Int64                 // when the last request ended, after since
	answered atomic.Bool                  // Sluice has sent something
	evicted  atomic.Bool                  // it was cut in favor of others
	received received

	deadlines sync.Mutex // guards limited, and the write deadline
	limited   bool       // the server has set a write deadline

	mu     sync.Mutex      // guards what follows
	grant  *accounts.Grant // of a silent client, then of the stranger, then of the user
	known  bool            // it counts for user
	user   accounts.Account
	closed bool // it is cut
	gone   bool // its server has closed it
}

func (l *Limiter) conn(accepted net.Conn) *conn {
	return &conn{
		Conn: accepted, limiter: l,
		address: accounts.ByAddress(request.AddressKey(accepted.RemoteAddr().String())),
	}
}

// self names the connection among those of its address.
func (c *conn) self() accounts.Key {
	return accounts.Key{Group: c.address.Group, Name: c.RemoteAddr().String()}
}

// leave gives back what a stranger has.
func (c *conn) leave() {
	leave(&c.place)
	leave(&c.entry)
	leave(&c.turn)
}

// leave gives a place back, if there is one.
func leave(p *atomic.Pointer[queue.Ticket]) {
	if t := p.Swap(nil); t != nil {
		t.Leave()
	}
}

// busy reports whether the connection need not make room: it does not wait for its client, or has just begun to.
func (c *conn) busy() bool {
	age, reading, writing := time.Since(c.since), time.Duration(c.reading.Load()), time.Duration(c.writing.Load())
	most := patience
	if c.answered.Load() {
		most = answerPatience
	}
	worked := c.requests.Load() - c.waiting.Load()
	if yielding := c.yielding.Load(); yielding > 0 && worked <= yielding ||
		age > introduction || writing > 0 && age-writing >= patience {
		return false
	}
	return worked > 0 || reading == 0 || age-reading < most
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	c.limited = !t.IsZero()
	return c.Conn.SetDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	c.limited = !t.IsZero()
	return c.Conn.SetWriteDeadline(t)
}

const (
	// tlsRecord is the most of a record that TLS writes on its own: it answers KeyUpdates while it reads, and whoever wants to
	// close the connection waits for that.
	tlsRecord = 64
	// tlsTimeout is how long the client may take to accept one.
	tlsTimeout = 5 * time.Second
)

// limit bounds a write of TLS itself, unless it has a deadline.
func (c *conn) limit(until time.Time) {
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	if !c.limited {
		_ = c.Conn.SetWriteDeadline(until)
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if len(p) <= tlsRecord && !c.inBody() { // the client of an exec may pause as long as it likes
		c.limit(time.Now().Add(tlsTimeout))
		defer c.limit(time.Time{})
	}
	if !c.answered.Load() {
		c.answered.Store(true)
	}
	// A response to a stranger may be a refusal by net/http itself, which lingers after it. What is no longer than a record of TLS
	// may answer a KeyUpdate, of which more follow.
	if len(p) > tlsRecord && c.place.Load() != nil && c.received.http1.Load() {
		leave(&c.entry)
		leave(&c.turn)
	}
	c.writing.Store(max(1, int64(time.Since(c.since))))
	n, err := c.Conn.Write(p)
	c.writing.Store(0)
	return n, err
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if c.overdue != nil {
		c.endTurn()
	}
	c.reading.Store(max(1, int64(time.Since(c.since))))
	n, err := c.Conn.Read(p)
	if header := c.received.bytes.Load(); err == nil && header > wrappingFree && c.received.http1.Load() && !c.inBody() {
		c.received.wrapping.pause(header, n)
	}
	c.reading.Store(0)
	if err == nil && c.place.Load() != nil && !c.inBody() {
		c.takeTurn()
	}
	if err == nil {
		err = c.receive(n)
	}
	return n, err
}

// takeTurn waits for a turn to process the bytes that a stranger has sent, which lasts until the next Read. Addresses get
// turns in rotation; of one address, every other turn is its newest waiting connection's. It is a function of its own,
// since the stacks of others must stay small.
func (c *conn) takeTurn() {
	turn := c.limiter.turns.Join(c.self(), 1, 0)
	c.turn.Store(turn)
	if c.place.Load() == nil || c.inBody() { // it was closed meanwhile, became its user's, or a request has begun
		leave(&c.turn)
	}
	_ = turn.Wait(context.Background()) // until it closes, at the latest
	c.overdue = time.AfterFunc(longestTurn, turn.Leave)
}

// endTurn ends a turn.
func (c *conn) endTurn() {
	c.overdue.Stop()
	c.overdue = nil
	leave(&c.turn)
}

// evict cuts the connection in favor of others.
func (c *conn) evict() {
	c.evicted.Store(true)
	c.leave()
	go func() { _ = c.cut() }()
}

// assign is Assign of a connection that is counted.
func (c *conn) assign(a accounts.Account) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known || c.closed || c.grant == nil {
		if c.evicted.Load() {
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
	if s := c.received.streams; s != nil {
		s.pace, s.due = userPace, time.Time{}
	}
	c.leave()
	return c.count()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.cut()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	c.grant.Release()
	c.received.release()
	return err
}

// cut ends what the connection does. What it takes is leaving until its server, which may be busy, closes it.
func (c *conn) cut() error {
	c.mu.Lock()
	c.closed = true
	c.grant.End()
	c.received.grant.End()
	if s := c.received.streams; s != nil {
		s.awaited.Broadcast()
	}
	c.leave()
	c.mu.Unlock()
	return c.Conn.Close()
}

type connKey struct{}

// ConnContext makes the connection known to its requests. It fits http.Server.ConnContext. A TLS handshake must be
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
