package handshake

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"time"

	"sluice/proxy/accounts"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
)

// turns gives the processors to as many handshakes at a time as there are, by the address in turn. The others wait: if a
// crowd that comes back computed its keys all at once, each step of an open connection would wait for all of them.
type turns struct {
	queue   *flowcontrol.Queue
	timeout time.Duration
}

func newTurns(timeout time.Duration) *turns {
	return &turns{flowcontrol.NewQueue(int64(runtime.GOMAXPROCS(0))), timeout}
}

// take waits for the turn of a handshake, whose client has said what it wants. It is a tls.Config.GetConfigForClient.
func (t *turns) take(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	c := hello.Conn.(*conn)
	c.ticket = t.queue.Join(accounts.ByAddress(request.AddressKey(c.RemoteAddr().String())), 1, 0)
	ctx, cancel := context.WithTimeout(hello.Context(), t.timeout)
	defer cancel()
	return nil, c.ticket.Wait(ctx)
}

// conn is a connection whose handshake may have the turn.
type conn struct {
	net.Conn
	ticket *flowcontrol.Ticket // until the handshake has computed what the client waits for
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.ticket != nil {
		c.leave()
	}
	return c.Conn.Write(p)
}

// leave gives the turn back, if the handshake has it.
func (c *conn) leave() {
	if c.ticket != nil {
		c.ticket.Leave()
		c.ticket = nil
	}
}

// NetConn returns the connection inside, as that of tls.Conn does.
func (c *conn) NetConn() net.Conn { return c.Conn }
