package flowcontrol

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// Connections counts connections, in total and per user. A connection counts for its address until
// its first authenticated request, and for that user from then on.
type Connections struct {
	limit Limit

	mu       sync.Mutex // guards all below
	open     int
	byKey    map[string]int
	rejected uint64
}

// NewConnections returns Connections. Both limits must be positive.
func NewConnections(l Limit) *Connections { return &Connections{limit: l, byKey: map[string]int{}} }

// Listener returns a listener that closes the connections of l beyond the limits at once. The server
// must have ConnContext as its http.Server.ConnContext.
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
		if c := l.connections.admit(accepted); c != nil {
			return c, nil
		}
		_ = accepted.Close()
	}
}

// conn is a counted connection.
type conn struct {
	net.Conn
	connections *Connections
	once        sync.Once
	key         string // guarded by Connections.mu
	assigned    bool   // to a user; guarded by Connections.mu
	closed      bool   // guarded by Connections.mu
}

// admit returns nil if a limit is reached.
func (c *Connections) admit(accepted net.Conn) *conn {
	key := "address:" + addressKey(accepted.RemoteAddr().String())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= c.limit.Total || c.byKey[key] >= c.limit.PerUser {
		c.rejected++
		return nil
	}
	c.open++
	c.byKey[key]++
	return &conn{Conn: accepted, connections: c, key: key}
}

// assign makes the connection count for a user, unless it already counts for one. It returns false if
// that user has too many.
func (c *conn) assign(key string) bool {
	all := c.connections
	all.mu.Lock()
	defer all.mu.Unlock()
	if c.assigned || c.closed {
		return true
	}
	if all.byKey[key] >= all.limit.PerUser {
		all.rejected++
		return false
	}
	all.drop(c.key)
	all.byKey[key]++
	c.key, c.assigned = key, true
	return true
}

func (c *Connections) drop(key string) {
	if c.byKey[key]--; c.byKey[key] == 0 {
		delete(c.byKey, key)
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() {
		all := c.connections
		all.mu.Lock()
		defer all.mu.Unlock()
		c.closed = true
		all.open--
		all.drop(c.key)
	})
	return c.Conn.Close()
}

type connKey struct{}

// ConnContext makes the connection known to WithFlowControl. It fits http.Server.ConnContext.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// connFrom returns nil for a connection that is not counted.
func connFrom(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
