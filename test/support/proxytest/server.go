package proxytest

import (
	"errors"
	"io"
	"log"
	"net/http"
	"testing"
)

// Server is an HTTP server on a Listener.
type Server struct {
	*Listener
	server http.Server
	served chan error
}

// Serve starts a server for h. The test must call Close.
func Serve(h http.Handler) *Server {
	s := &Server{
		Listener: NewListener(),
		server:   http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)},
		served:   make(chan error, 1),
	}
	go func() { s.served <- s.server.Serve(s.Listener) }()
	return s
}

// Close stops the server and waits until it has stopped.
func (s *Server) Close(t testing.TB) {
	t.Helper()
	_ = s.server.Close()
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
