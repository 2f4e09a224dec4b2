package flowcontrol

import (
	"net"
	"testing"
)

// fakeConn is a connection from an address.
type fakeConn struct {
	net.Conn
	address string
	closed  bool
}

func (c *fakeConn) RemoteAddr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", c.address)
	return a
}

func (c *fakeConn) Close() error {
	c.closed = true
	return nil
}

func TestConnectionsCountForTheirAddressAndThenForTheirUser(t *testing.T) {
	all := NewConnections(Limit{Total: 4, PerUser: 2})
	open := func(address string) *conn { return all.admit(&fakeConn{address: address}) }
	a, b := open("192.0.2.1:1"), open("192.0.2.1:2")
	if a == nil || b == nil || open("192.0.2.1:3") != nil {
		t.Fatal("the limit of an address is not 2")
	}
	if !a.assign("user:x") || !b.assign("user:x") {
		t.Fatal("a user has no two connections")
	}
	c := open("192.0.2.1:4")
	if c == nil {
		t.Fatal("connections of a user still count for the address")
	}
	if c.assign("user:x") {
		t.Error("a user has three connections")
	}
	if !a.assign("user:y") {
		t.Error("another user on a connection is refused")
	}
	d := open("192.0.2.2:1")
	if d == nil || open("192.0.2.3:1") != nil {
		t.Error("the total is not 4")
	}
	for _, x := range []*conn{a, b, c, d} {
		_ = x.Close()
		_ = x.Close() // as net/http may
	}
	if all.open != 0 || len(all.byKey) != 0 || all.rejected != 3 {
		t.Errorf("%d open, %v, %d rejected", all.open, all.byKey, all.rejected)
	}
	if !a.assign("user:x") || len(all.byKey) != 0 {
		t.Error("a closed connection counts")
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

func TestListenerClosesConnectionsBeyondTheLimit(t *testing.T) {
	conns := []*fakeConn{{address: "192.0.2.1:1"}, {address: "192.0.2.1:2"}, {address: "192.0.2.2:1"}}
	l := NewConnections(Limit{Total: 10, PerUser: 1}).Listener(&listenerOf{conns: conns})
	for _, want := range []*fakeConn{conns[0], conns[2]} {
		c, err := l.Accept()
		if err != nil || c.(*conn).Conn != want {
			t.Errorf("accepted %v, %v", c, err)
		}
	}
	if _, err := l.Accept(); err == nil || !conns[1].closed || conns[0].closed {
		t.Errorf("%v; closed: %v", err, conns[1].closed)
	}
}
