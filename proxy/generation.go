package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"sluice/proxy/auth"
	"sluice/proxy/limits"
)

// unusedFor is how long a connection may stay open in a drain without a request: the first one may be
// on its way. http.Server waits five seconds for it.
const unusedFor = 500 * time.Millisecond

// idleFor is how long connections may stay open at the end of a drain once all of them are idle: a client
// may send a request before it has read GOAWAY, and the last write is flushed. http.Server waits a
// second for an HTTP/2 connection, in which there would be no API.
const idleFor = 100 * time.Millisecond

// generation is a server with the connections that it has accepted.
type generation struct {
	*http.Server
	requests running    // its requests, except watches
	failed   chan error // receives what Serve returns

	mu    sync.Mutex
	conns map[net.Conn]http.ConnState // open connections, except hijacked ones; guarded by mu
}

// generationKey is the context key of the generation of a request.
type generationKey struct{}

// newGeneration starts a server on a part of the listener.
func (g *Gateway) newGeneration(base context.Context, shared *limits.Listener, config *tls.Config) *generation {
	l := &g.options.Config.Limits
	s := &generation{
		Server: limits.NewServer(g, limits.ServerOptions{
			HeaderBytes: int(l.HeaderBytes), Streams: l.StreamsPerConnection, Log: zap.NewStdLog(g.options.Log.Named("http")),
			ReadHeaderTimeout: l.ReadHeaderTimeout.Duration, IdleTimeout: l.IdleTimeout.Duration,
		}),
		failed: make(chan error, 1), conns: map[net.Conn]http.ConnState{},
	}
	base = context.WithValue(base, generationKey{}, s)
	s.BaseContext = func(net.Listener) context.Context { return base }
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return limits.ConnContext(auth.ConnContext(ctx, c), c)
	}
	s.ConnState = s.track
	s.TLSConfig = config.Clone() // for its protocols; the server adds to it
	go func() { s.failed <- s.Serve(part(shared)) }()
	return s
}

// track follows the state of a connection.
func (s *generation) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(s.conns, c)
	} else {
		s.conns[c] = state
	}
}

// drain accepts no more connections, sends GOAWAY to HTTP/2 clients, and closes connections once they
// are idle. It returns when all are closed or ctx ends.
func (s *generation) drain(ctx context.Context) {
	late := time.AfterFunc(unusedFor, s.closeUnused)
	defer late.Stop()
	_ = s.Shutdown(ctx)
}

// end drains, and closes connections once all of them are idle for a moment.
func (s *generation) end(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.drain(ctx)
	}()
	tick := time.NewTicker(idleFor)
	defer tick.Stop()
	for wasIdle := false; ; {
		select {
		case <-ended:
			return
		case <-tick.C:
			idle := s.idle()
			if idle && wasIdle {
				_ = s.Close()
			}
			wasIdle = idle
		}
	}
}

// idle reports whether no connection is in use.
func (s *generation) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range s.conns {
		if state != http.StateIdle {
			return false
		}
	}
	return true
}

func (s *generation) closeUnused() {
	s.mu.Lock()
	var unused []net.Conn
	for c, state := range s.conns {
		if state == http.StateNew {
			unused = append(unused, c)
		}
	}
	s.mu.Unlock()
	for _, c := range unused {
		if encrypted, ok := c.(*tls.Conn); ok {
			c = encrypted.NetConn() // which closes without a word to the client, who may not listen
		}
		_ = c.Close()
	}
}
