package proxytest

import (
	"context"
	"net"
	"sync"
)

// Listener is a net.Listener whose connections are in-memory pipes.
type Listener struct {
	conns  chan net.Conn // unbuffered; never closed
	closed chan struct{} // closed by Close
	once   sync.Once
}

// NewListener returns an open Listener.
func NewListener() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to the listener, whatever the address. It fits rest.Config.Dial and
// http.Transport.DialContext, and fails when the listener is closed.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// DialFrom connects from an IP address to a listener that is open.
func (l *Listener) DialFrom(ip string) net.Conn {
	client, server := net.Pipe()
	l.conns <- from{server, &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}}
	return client
}

// from is a connection from an address.
type from struct {
	net.Conn
	address net.Addr
}

// RemoteAddr implements net.Conn.
func (f from) RemoteAddr() net.Addr { return f.address }

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }
