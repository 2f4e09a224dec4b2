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
	// even if its client sends something now and then, and before that as long to send something.
	introduction = 10 * time.Second
	// doorPatience is how long it waits at the door at most: longer than most clients do.
	doorPatience = 30 * time.Second
	// introducing is how many strangers Sluice works on at a time, from the handshake to the first request, besides those that
	// make it wait. The clients of a crowd may share a processor: if all were worked on at once, each would take longer than
	// clients are patient.
	introducing = 32
	// longestWork is how long Sluice works on a stranger until it is the turn of others: one may send a byte now and then.
	longestWork = time.Second
	// helloPatience is how long a client may make Sluice wait for the rest of its first message until it works on another:
	// thousands a second may send a byte and no more.
	helloPatience = 10 * time.Millisecond
)

// Connections counts connections. One is silent until its client sends something, a stranger's until its first
// authenticated request, and its user's from then on. When there are too many strangers, those that wait for their
// clients make room for new ones, so that callers without credentials keep nobody out; while all are busy, new
// connections wait, except for those of addresses with many more.
type Connections struct {
	ledger *accounts.Ledger
	door   *Queue // has a place for each stranger: for the address with the fewest, and of one address for the newest
	work   *Queue // of strangers on which Sluice works

	mu     sync.Mutex // guards what follows
	ushers bool       // usher runs
}

// NewConnections returns Connections that are counted in a Ledger.
func NewConnections(l *accounts.Ledger) *Connections {
	return &Connections{ledger: l, door: NewQueue(0).NewestFirst(), work: NewQueue(introducing)}
}

// conn is a counted connection.
type conn struct {
	net.Conn
	connections *Connections
	address     accounts.Key
	place       atomic.Pointer[Ticket] // of the stranger, at the door
	work        atomic.Pointer[Ticket] // of one on which Sluice works, until its first request
	worked      atomic.Int64           // since when, after since, Sluice works on it
	since       time.Time              // it is a stranger's
	reading     atomic.Int64           // since when its client is waited for, after since; 0 if it is not
	writing     atomic.Int64           // the same of a client that accepts what Sluice sends
	requests    atomic.Int64           // in progress
	waiting     atomic.Int64           // those of them that wait for more of their bodies
	rested      atomic.Int64           // when the last request ended, after since
	answered    atomic.Bool            // Sluice has sent something
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

// usherEvery is how often it is tried to make room for those who wait to be strangers.
const usherEvery = 10 * time.Millisecond

// usher makes room while somebody waits at the door.
func (c *Connections) usher() {
	for {
		c.mu.Lock()
		next, waits := c.door.Next()
		c.ushers = waits
		c.mu.Unlock()
		if !waits {
			return
		}
		if !c.ledger.Account(next).MakeRoom(accounts.Strangers) {
			time.Sleep(usherEvery)
		}
	}
}

// awaitUsher has usher run, if it does not.
func (c *Connections) awaitUsher() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ushers {
		c.ushers = true
		go c.usher()
	}
}

// admit waits until the connection is a stranger's on which Sluice works. It returns false if ctx ends before that, or the
// connection closes.
func (c *conn) admit(ctx context.Context) bool {
	door, account := c.connections.door, c.connections.ledger.Account(c.address)
	door.SetPlaces(c.connections.ledger.Limit(accounts.Strangers))
	place := door.Join(c.address, 1, 0)
	if !place.HasStarted() {
		c.connections.awaitUsher()
	}
	if place.wait(ctx) != nil {
		return false
	}
	work := c.connections.work.Join(c.address, 1, 0)
	if !c.introduce(place, work, account) || work.wait(ctx) != nil {
		return false
	}
	c.worked.Store(int64(time.Since(c.since)))
	return true
}

// introduce makes the connection a stranger's, with its places.
func (c *conn) introduce(place, work *Ticket, account accounts.Account) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Now()
	c.place.Store(place)
	c.work.Store(work)
	g, err := account.TakeWhileBusy(accounts.Strangers, 1, c.busy, c.evict)
	if err != nil || c.closed {
		g.Release()
		c.leave()
		return false
	}
	c.grant.Release()
	c.grant = g
	return true
}

// leave gives the places of a stranger back.
func (c *conn) leave() {
	leave(&c.place)
	leave(&c.work)
}

// leave gives a place back, if there is one.
func leave(p *atomic.Pointer[Ticket]) {
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
	if age > introduction || writing > 0 && age-writing >= patience {
		return false
	}
	return c.requests.Load() > c.waiting.Load() || reading == 0 || age-reading < most
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if !c.answered.Load() {
		c.answered.Store(true)
	}
	c.writing.Store(max(1, int64(time.Since(c.since))))
	n, err := c.Conn.Write(p)
	c.writing.Store(0)
	return n, err
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.reading.Store(max(1, int64(time.Since(c.since))))
	n, err := c.readPatiently(p)
	c.reading.Store(0)
	if err == nil {
		err = c.receive(n)
	}
	return n, err
}

// readPatiently reads. While Sluice works on a stranger, it does so for others instead if the client takes its time.
func (c *conn) readPatiently(p []byte) (int, error) {
	if work := c.work.Load(); work != nil {
		return c.awaitStranger(work, p)
	}
	return c.Conn.Read(p)
}

// awaitStranger is a function of its own, since the stacks of others must stay small.
func (c *conn) awaitStranger(work *Ticket, p []byte) (int, error) {
	most := helloPatience
	if c.answered.Load() {
		most = patience
	}
	most = min(most, longestWork-time.Since(c.since)+time.Duration(c.worked.Load()))
	late := time.AfterFunc(most, work.Leave)
	if most <= 0 {
		late.Stop()
		work.Leave()
	}
	n, err := c.Conn.Read(p)
	if late.Stop() || err != nil {
		return n, err
	}
	c.reading.Store(0)
	again := c.connections.work.Join(c.address, 1, 0)
	if !c.work.CompareAndSwap(work, again) { // it is closed, or its user's
		again.Leave()
		return n, nil
	}
	err = again.wait(context.Background()) // until it closes, at the latest
	c.worked.Store(int64(time.Since(c.since)))
	return n, err
}

// evict closes the connection in favor of others.
func (c *conn) evict() {
	c.leave()
	go func() { _ = c.Close() }()
}

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
	c.leave()
	return c.count()
}

// stranger reports whether the connection has had no authenticated request.
func (c *conn) stranger() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.known
}

// UserOf returns the user for whom the connection of a request counts, and false before its first authenticated request.
func UserOf(ctx context.Context) (k accounts.Key, known bool) {
	c := connFrom(ctx)
	if c == nil {
		return accounts.Key{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.user.Key, c.known
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.grant.Release()
	c.received.release()
	c.leave()
	c.mu.Unlock()
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
