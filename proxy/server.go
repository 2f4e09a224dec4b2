package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"sluice/config"
	"sluice/proxy/auth"
	"sluice/proxy/flowcontrol"
)

const (
	// pingAfter and pingTimeout detect dead HTTP/2 connections.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
	// cutTimeout is how long handlers have to return after their requests were cut.
	cutTimeout = 5 * time.Second
)

// newServer returns a server that limits everything except the duration of a request: watches are
// long. The limit of header bytes also limits what an HTTP/2 header expands to: a client can refer to a
// field of 4 KiB by one byte (HPACK, RFC 7541).
func newServer(h http.Handler, l *config.Limits, log *zap.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: l.ReadHeaderTimeout.Duration, // of TLS handshakes too
		IdleTimeout:       l.IdleTimeout.Duration,
		MaxHeaderBytes:    l.HeaderBytes,
		ErrorLog:          zap.NewStdLog(log),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: l.StreamsPerConnection,
			SendPingTimeout:      pingAfter,
			PingTimeout:          pingTimeout,
			WriteByteTimeout:     time.Minute,
		},
	}
}

// Serve serves the API over TLS on l, and closes l. When ctx ends it drains: it accepts requests for
// Drain.Delay, lets running requests finish for Drain.Grace, and cuts those that remain. It returns
// nil after a drain, whether requests had to be cut or not.
func (g *Gateway) Serve(ctx context.Context, l net.Listener, config *tls.Config) error {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	server := newServer(g, &g.options.Limits, g.options.Log.Named("http"))
	server.BaseContext = func(net.Listener) context.Context { return base }
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return flowcontrol.ConnContext(auth.ConnContext(ctx, c), c)
	}
	server.TLSConfig = config
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(g.connections.Listener(l), "", "") }()
	select {
	case err := <-failed:
		return fmt.Errorf("API listener: %w", err)
	case <-ctx.Done():
	}
	g.shutdown(server, cut)
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("API listener: %w", err)
	}
	return nil
}

// shutdown stops the server in order: watches served from the cache end, Shutdown refuses new
// connections and sends GOAWAY to HTTP/2 clients, and after the grace period cut cancels the requests
// that remain, among them upgraded connections.
func (g *Gateway) shutdown(server *http.Server, cut context.CancelFunc) {
	time.Sleep(g.options.Drain.Delay)
	g.endWatches()
	grace, cancel := context.WithTimeout(context.Background(), g.options.Drain.Grace)
	defer cancel()
	err := server.Shutdown(grace)
	if err == nil {
		err = g.wait(grace)
	}
	cut()
	if err != nil {
		g.options.Log.Info("requests cut after grace period", zap.Error(err))
		_ = server.Close()
	}
	last, done := context.WithTimeout(context.Background(), cutTimeout)
	defer done()
	_ = g.wait(last)
}
