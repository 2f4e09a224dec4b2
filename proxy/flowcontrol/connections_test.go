package flowcontrol

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fakeConn is a connection from an address.
type fakeConn struct {
	net.Conn
	address string
	closed  atomic.Bool
}

func (c *fakeConn) RemoteAddr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", c.address)
	return a
}

func (c *fakeConn) Close() error {
	c.closed.Store(true)
	return nil
}

// accept passes a new connection through a listener. It returns nil if that refuses the connection.
func accept(t *testing.T, all *Connections, address string) *conn {
	t.Helper()
	accepted := &fakeConn{address: address}
	c, err := all.Listener(&listenerOf{conns: []*fakeConn{accepted}}).Accept()
	if err != nil {
		if !accepted.closed.Load() {
			t.Errorf("the refused connection of %s is open", address)
		}
		return nil
	}
	return c.(*conn)
}

func (c *conn) isClosed() bool { return c.Conn.(*fakeConn).closed.Load() }

// checkEmpty fails if anything still counts.
func checkEmpty(t *testing.T, all *Connections) {
	t.Helper()
	if all.open != 0 || len(all.byUser) != 0 || len(all.byAddress) != 0 || all.unassigned.Len() != 0 {
		t.Errorf("%d open, %v, %v, %d unassigned", all.open, all.byUser, all.byAddress, all.unassigned.Len())
	}
}

func TestConnectionsCountForTheirAddressAndThenForTheirUser(t *testing.T) {
	all := NewConnections(Limit{Total: 4, PerUser: 2})
	a, b := accept(t, all, "192.0.2.1:1"), accept(t, all, "192.0.2.1:2")
	if !a.assign("user:x") || !b.assign("user:x") {
		t.Fatal("a user has no two connections")
	}
	c := accept(t, all, "192.0.2.1:3")
	if c.assign("user:x") {
		t.Error("a user has three connections")
	}
	if !a.assign("user:y") {
		t.Error("another user on a connection is refused")
	}
	d := accept(t, all, "192.0.2.1:4")
	if a.isClosed() || b.isClosed() || c.isClosed() || d.isClosed() {
		t.Error("connections of a user still count for the address")
	}
	for _, x := range []*conn{a, b, c, d} {
		_ = x.Close()
		_ = x.Close() // as net/http may
	}
	if all.rejected != 1 {
		t.Errorf("%d rejected", all.rejected)
	}
	if !a.assign("user:x") {
		t.Error("a closed connection is refused")
	}
	checkEmpty(t, all)
}

func TestFullAddressClosesItsOldestUnassignedConnection(t *testing.T) {
	all := NewConnections(Limit{Total: 10, PerUser: 2})
	other := accept(t, all, "192.0.2.2:1")
	a, b, c := accept(t, all, "192.0.2.1:1"), accept(t, all, "192.0.2.1:2"), accept(t, all, "192.0.2.1:3")
	if c == nil {
		t.Fatal("a full address refuses a new connection")
	}
	if !a.isClosed() || b.isClosed() || other.isClosed() {
		t.Errorf("closed: %v, %v; of another address: %v", a.isClosed(), b.isClosed(), other.isClosed())
	}
	if all.open != 3 || all.rejected != 1 {
		t.Errorf("%d open, %d rejected", all.open, all.rejected)
	}
	if a.assign("user:x") {
		t.Error("a connection that the listener closed is assigned")
	}
	for _, x := range []*conn{other, a, b, c} {
		_ = x.Close()
	}
	checkEmpty(t, all)
}

func TestFullListenerClosesTheOldestUnassignedConnection(t *testing.T) {
	all := NewConnections(Limit{Total: 3, PerUser: 3})
	a, b, c := accept(t, all, "192.0.2.1:1"), accept(t, all, "192.0.2.2:1"), accept(t, all, "192.0.2.1:2")
	a.assign("user:x")
	d := accept(t, all, "192.0.2.3:1")
	if d == nil {
		t.Fatal("unassigned connections keep a new one out")
	}
	if a.isClosed() || !b.isClosed() || c.isClosed() {
		t.Errorf("closed: %v of a user; %v, %v", a.isClosed(), b.isClosed(), c.isClosed())
	}
	c.assign("user:x")
	d.assign("user:y")
	if accept(t, all, "192.0.2.4:1") != nil || a.isClosed() || c.isClosed() || d.isClosed() {
		t.Error("users lose a connection to a new one")
	}
	for _, x := range []*conn{a, b, c, d} {
		_ = x.Close()
	}
	checkEmpty(t, all)
}

func TestConnectionIsEitherAssignedOrClosed(t *testing.T) {
	for range 200 {
		all := NewConnections(Limit{Total: 1, PerUser: 1})
		c := accept(t, all, "192.0.2.1:1")
		assigned := make(chan bool)
		go func() { assigned <- c.assign("user:x") }()
		next := accept(t, all, "192.0.2.2:1")
		if ok := <-assigned; ok == c.isClosed() || ok != (next == nil) {
			t.Fatalf("assigned: %v; closed: %v; the next is refused: %v", ok, c.isClosed(), next == nil)
		}
		_ = c.Close()
		if next != nil {
			_ = next.Close()
		}
		checkEmpty(t, all)
	}
}

func TestEvictionEndsTheRequestsOfTheConnection(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		all := NewConnections(Limit{Total: 1, PerUser: 1})
		started, ended := make(chan bool), make(chan bool)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			started <- r.ProtoMajor == 2
			<-r.Context().Done()
			ended <- connFrom(r.Context()).assign("user:x")
		}))
		s.Listener, s.Config.ConnContext, s.EnableHTTP2 = all.Listener(s.Listener), ConnContext, http2
		s.StartTLS()
		failed := make(chan error)
		go func() {
			_, err := s.Client().Get(s.URL)
			failed <- err
		}()
		if <-started != http2 {
			t.Error("the protocol is another")
		}
		next, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if <-ended {
			t.Error("an evicted connection is assigned")
		}
		if err := <-failed; err == nil {
			t.Error("a request on an evicted connection has a response")
		}
		_ = next.Close()
		s.Close()
	}
}

// listenerOf accepts connections and then fails.
type listenerOf struct {
	net.Listener
	conns []*fakeConn
}

func (l *listenerOf) Accept() (net.Conn, error) {
	if len(l.conns) == 0 {
		return nil, net.ErrClosed
	}
	c := l.conns[0]
	l.conns = l.conns[1:]
	return c, nil
}

// Each connection costs a TLS handshake, which no limit of open connections bounds.
func TestAddressOpensConnectionsAtItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewConnections(Limit{Total: 100, PerUser: 100})
		all.LimitRate(Rate{PerSecond: 2, Burst: 5})
		open := func(address string, n int) (accepted int) {
			for range n {
				if c := accept(t, all, address); c != nil {
					accepted++
					_ = c.Close()
				}
			}
			return accepted
		}
		if n := open("192.0.2.1:1", 10); n != 5 {
			t.Errorf("%d at once", n)
		}
		if n := open("[2001:db8::1]:1", 3) + open("[2001:db8::2]:1", 3); n != 5 {
			t.Errorf("%d at once of a network", n)
		}
		time.Sleep(time.Second)
		if n := open("192.0.2.1:2", 10); n != 2 {
			t.Errorf("%d a second later", n)
		}
		checkEmpty(t, all)
	})
}
