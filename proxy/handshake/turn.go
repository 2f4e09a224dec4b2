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

const (
	// handshaking is how many handshakes are under way at a time, besides those whose clients make them wait. The clients of a
	// crowd may share a processor: with all of them under way, each would take longer than clients are patient.
	handshaking = 256
	// patience is how long a client may make its handshake wait until another begins, and helloPatience is the same for the rest
	// of its first message: thousands a second may send a byte and no more.
	patience, helloPatience = 250 * time.Millisecond, 10 * time.Millisecond
)

// turns gives the processors to as many handshakes at a time as there are, by the address in turn. The others wait: if a
// crowd that comes back computed its keys all at once, each step of an open connection would wait for all of them.
type turns struct{ places, queue *flowcontrol.Queue }

func newTurns() *turns {
	return &turns{flowcontrol.NewQueue(handshaking), flowcontrol.NewQueue(int64(runtime.GOMAXPROCS(0)))}
}

// begin waits until the handshake of a connection may be under way. The caller must call end.
func (t *turns) begin(ctx context.Context, c *conn) error {
	c.place = t.places.Join(c.address(), 1, 0)
	return c.place.Wait(ctx)
}

// take waits for the turn of a handshake, whose client has said what it wants.
func (t *turns) take(hello *tls.ClientHelloInfo) error {
	c := hello.Conn.(*conn)
	if c.ticket == nil {
		c.ticket = t.queue.Join(c.address(), 1, 0)
	}
	return c.ticket.Wait(hello.Context())
}

// config returns a configuration whose handshakes take turns: for the keys, and for the signature once more if the client
// had to be asked for other keys in between.
func (t *turns) config(of *tls.Config) *tls.Config {
	c := of.Clone()
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) { return nil, t.take(hello) }
	certificate := of.GetCertificate
	c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if err := t.take(hello); err != nil {
			return nil, err
		}
		return certificate(hello)
	}
	return c
}

// conn is a connection whose handshake may have the turn.
type conn struct {
	net.Conn
	place    *flowcontrol.Ticket // while the handshake is under way
	ticket   *flowcontrol.Ticket // until the handshake has computed what the client waits for
	answered bool
}

func (c *conn) address() accounts.Key {
	return accounts.ByAddress(request.AddressKey(c.RemoteAddr().String()))
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if c.place == nil { // the stack of a server's connection must stay small
		return c.Conn.Read(p)
	}
	return c.readInPlace(p)
}

// readInPlace is Read while the handshake is under way.
func (c *conn) readInPlace(p []byte) (int, error) {
	most := helloPatience
	if c.answered {
		most = patience
	}
	defer time.AfterFunc(most, c.place.Leave).Stop()
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.place != nil {
		c.answered = true
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

// end gives back what the handshake has.
func (c *conn) end() {
	c.leave()
	c.place.Leave()
	c.place = nil
}

// NetConn returns the connection inside, as that of tls.Conn does.
func (c *conn) NetConn() net.Conn { return c.Conn }
