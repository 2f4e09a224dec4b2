package proxytest

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Server is an HTTP server whose connections are in memory.
type Server struct {
	wires  wires
	server http.Server
	served chan error
}

// Serve begins to serve; Close ends it.
func Serve(h http.Handler) *Server {
	s := &Server{
		wires:  wires{conns: make(chan net.Conn)},
		server: http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)},
		served: make(chan error, 1),
	}
	go func() { s.served <- s.server.Serve(&s.wires) }()
	return s
}

// Dial connects to the server, whatever the address. It fits rest.Config.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case s.wires.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close ends the server and waits for that. Nothing may be dialed any more.
func (s *Server) Close(t testing.TB) {
	t.Helper()
	_ = s.server.Close()
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

// wires is the server's listener.
type wires struct {
	conns  chan net.Conn // closed by Close
	closed sync.Once
}

// Accept implements net.Listener.
func (w *wires) Accept() (net.Conn, error) {
	if c, ok := <-w.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (w *wires) Close() error {
	w.closed.Do(func() { close(w.conns) })
	return nil
}

// Addr implements net.Listener.
func (w *wires) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }
