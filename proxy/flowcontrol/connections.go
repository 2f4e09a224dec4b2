package flowcontrol

import (
	"container/list"
	"context"
	"net"
	"sync"
	"time"

	"sluice/proxy/request"
)

// Connections counts connections, in total and per user. A connection counts for its address until
// its first authenticated request, and for that user from then on. Until then it is unassigned, and
// makes room for a new connection when a limit is reached: callers without credentials keep nobody out.
type Connections struct {
	rates *rates // of new connections, by address; nil for no limit

	mu         sync.Mutex // guards all below
	limit      Limit
	open       int
	byUser     map[string]int
	unassigned *list.List            // of *conn, oldest first
	byAddress  map[string]*list.List // the unassigned ones of each address, oldest first
	rejected   uint64
}

// NewConnections returns Connections. Both limits must be positive.
func NewConnections(l Limit) *Connections {
	return &Connections{limit: l, byUser: map[string]int{}, unassigned: list.New(), byAddress: map[string]*list.List{}}
}

// LimitRate bounds the new connections of each address: those beyond are closed before they cost a TLS
// handshake. It must be called before Listener.
func (c *Connections) LimitRate(r Rate) { c.rates = newRates(r) }

// SetRate changes what LimitRate has set.
func (c *Connections) SetRate(r Rate) { c.rates.set(r) }

// SetLimit changes the limits for new connections. Open ones stay.
func (c *Connections) SetLimit(l Limit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = l
}

// Listener returns a listener that keeps the connections of l within the limits: it closes the oldest
// unassigned one for a new one, or the new one if all are assigned. A connection that another listener
// of the same Connections has accepted is counted already, even if it is wrapped. The server must have
// ConnContext as its http.Server.ConnContext.
func (c *Connections) Listener(l net.Listener) net.Listener { return &listener{l, c} }

type listener struct {
	net.Listener
	connections *Connections
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if counted := unwrap(accepted); counted != nil && counted.connections == l.connections {
			return accepted, nil
		}
		c, evicted := l.connections.admit(accepted)
		if evicted != nil {
			_ = evicted.Close()
		}
		if c != nil {
			return c, nil
		}
		_ = accepted.Close()
	}
}

// conn is a counted connection.
type conn struct {
	net.Conn
	connections *Connections
	address     string

	// Connections.mu guards all below.
	user              string        // empty while the connection is unassigned
	inAll, ofAddress  *list.Element // in the lists of Connections, while it is unassigned
	released, evicted bool
}

// admit counts a connection. It returns nil if its address opens too many at once, or if a limit is
// reached and no connection can be evicted. The caller must close the evicted connection, which no
// longer counts.
func (c *Connections) admit(accepted net.Conn) (admitted, evicted *conn) {
	address := request.AddressKey(accepted.RemoteAddr().String())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rates != nil && !c.rates.allow(address, time.Now()) {
		c.rejected++
		return nil, nil
	}
	var oldest *list.Element
	if of := c.byAddress[address]; of != nil && of.Len() >= c.limit.PerUser {
		oldest = of.Front()
	} else if c.open >= c.limit.Total {
		if oldest = c.unassigned.Front(); oldest == nil {
			c.rejected++
			return nil, nil
		}
	}
	if oldest != nil {
		evicted = oldest.Value.(*conn)
		evicted.evicted = true
		c.release(evicted)
		c.rejected++
	}
	admitted = &conn{Conn: accepted, connections: c, address: address}
	if c.byAddress[address] == nil {
		c.byAddress[address] = list.New()
	}
	admitted.inAll, admitted.ofAddress = c.unassigned.PushBack(admitted), c.byAddress[address].PushBack(admitted)
	c.open++
	return admitted, evicted
}

// assign makes the connection count for a user, unless it already counts for one. It returns false if
// that user has too many, or the connection is evicted: its client could not receive the response.
func (c *conn) assign(user string) bool {
	all := c.connections
	all.mu.Lock()
	defer all.mu.Unlock()
	if c.released || c.user != "" {
		return !c.evicted
	}
	if all.byUser[user] >= all.limit.PerUser {
		all.rejected++
		return false
	}
	all.unlist(c)
	all.byUser[user]++
	c.user = user
	return true
}

// unlist removes an unassigned connection from the lists.
func (c *Connections) unlist(x *conn) {
	c.unassigned.Remove(x.inAll)
	of := c.byAddress[x.address]
	if of.Remove(x.ofAddress); of.Len() == 0 {
		delete(c.byAddress, x.address)
	}
}

// release ends the counting of a connection, once.
func (c *Connections) release(x *conn) {
	if x.released {
		return
	}
	x.released = true
	c.open--
	if x.user == "" {
		c.unlist(x)
	} else if c.byUser[x.user]--; c.byUser[x.user] == 0 {
		delete(c.byUser, x.user)
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.connections.mu.Lock()
	c.connections.release(c)
	c.connections.mu.Unlock()
	return c.Conn.Close()
}

type connKey struct{}

// ConnContext makes the connection known to WithFlowControl. It fits http.Server.ConnContext.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, unwrap(c))
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
