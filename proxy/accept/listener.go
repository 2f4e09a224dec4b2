package accept

import (
	"context"
	"errors"
	"net"
)

// Listener is a net.Listener with the address of another one. It accepts the connections that are handed to it, such as
// those of the other one.
type Listener struct {
	net.Listener
	handed chan result // unbuffered; never closed
	ctx    context.Context
	cancel context.CancelFunc
}

// result is the result of one Accept.
type result struct {
	conn net.Conn
	err  error
}

// New returns a Listener with the address of l, which is closed with it.
func New(l net.Listener) *Listener {
	ctx, cancel := context.WithCancel(context.Background())
	return &Listener{Listener: l, handed: make(chan result), ctx: ctx, cancel: cancel}
}

// Run calls begin for each connection of the other listener until that is closed, and hands its errors over. begin must
// not block for longer than Hand.
func (l *Listener) Run(begin func(net.Conn)) {
	for {
		conn, err := l.Listener.Accept()
		if err == nil {
			begin(conn)
		} else if !l.hand(result{err: err}) || errors.Is(err, net.ErrClosed) {
			l.cancel()
			return
		}
	}
}

// Hand waits until a connection is accepted, or closes it and returns false when the listener is closed.
func (l *Listener) Hand(conn net.Conn) bool {
	if l.hand(result{conn: conn}) {
		return true
	}
	_ = conn.Close()
	return false
}

func (l *Listener) hand(r result) bool {
	select {
	case l.handed <- r:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) { return l.AcceptUntil(nil) }

// AcceptUntil is Accept for one that accepts no more once a channel is closed, while others still do.
func (l *Listener) AcceptUntil(ended <-chan struct{}) (net.Conn, error) {
	select {
	case <-ended:
		return nil, net.ErrClosed
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	case r := <-l.handed:
		return r.conn, r.err
	}
}

// Context ends with the listener.
func (l *Listener) Context() context.Context { return l.ctx }

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.cancel()
	return l.Listener.Close()
}
