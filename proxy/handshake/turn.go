package handshake

import (
	"crypto/tls"
	"errors"
	"net"
	"reflect"
	"runtime"

	"sluice/proxy/accounts"
	"sluice/proxy/queue"
	"sluice/proxy/request"
)

// turns gives the processors to as many handshakes at a time as there are, by the address in turn. The others wait: if a
// crowd that comes back computed its keys all at once, each step of an open connection would wait for all of them.
type turns struct{ queue *queue.Queue }

func newTurns() *turns { return &turns{queue.New(int64(runtime.GOMAXPROCS(0)))} }

// take waits for the turn of a handshake, whose client has said what it wants.
func (t *turns) take(hello *tls.ClientHelloInfo) error {
	c := hello.Conn.(*conn)
	if c.ticket == nil {
		c.ticket = t.queue.Join(accounts.ByAddress(request.AddressKey(c.RemoteAddr().String())), 1, 0)
	}
	return c.ticket.Wait(hello.Context())
}

// config returns a configuration whose handshakes take turns: for the keys, and for the signature once more if the client
// had to be asked for other keys in between.
func (t *turns) config(of *tls.Config) *tls.Config {
	c := of.Clone()
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) { return nil, t.take(hello) }
	verify := of.VerifyConnection
	c.VerifyConnection = func(s tls.ConnectionState) error {
		for _, presented := range s.PeerCertificates {
			if partsOf(reflect.ValueOf(*presented)) > maxParts {
				return errLargeCertificate
			}
		}
		if verify == nil {
			return nil
		}
		return verify(s)
	}
	certificate := of.GetCertificate
	c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if err := t.take(hello); err != nil {
			return nil, err
		}
		return certificate(hello)
	}
	return c
}

const (
	// maxBytes is how many bytes a client may have sent before it sends the last of its handshake.
	maxBytes = 16 << 10
	// maxParts bounds the names and extensions of a certificate, which stays as long as its connection: a name of a byte takes 150.
	maxParts = 256
)

var (
	errLongHandshake    = errors.New("the handshake is too long")
	errLargeCertificate = errors.New("a client certificate has too many names or extensions")
)

// partsOf returns how many elements the lists of a value have, bytes aside, and those of the structs in it.
func partsOf(v reflect.Value) (n int) {
	for _, field := range v.Fields() {
		switch {
		case field.Kind() == reflect.Struct:
			n += partsOf(field)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() != reflect.Uint8:
			n += field.Len()
		}
	}
	return n
}

// conn is a connection whose handshake may have the turn.
type conn struct {
	net.Conn
	ticket   *queue.Ticket // until the handshake has computed what the client waits for
	received int           // bytes of the handshake
	complete bool
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if c.complete {
		return c.Conn.Read(p)
	}
	if c.received > maxBytes {
		return 0, errLongHandshake
	}
	n, err := c.Conn.Read(p)
	c.received += n
	return n, err
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
