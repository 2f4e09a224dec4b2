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
)

const (
	readHeaderTimeout = 20 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 1 << 20 // as the apiserver

	// maxStreams bounds the requests that one HTTP/2 connection carries at a
	// time, as the apiserver does (CVE-2023-44487).
	maxStreams = 100
	// pingAfter and pingTimeout find out connections that are dead.
	pingAfter   = 30 * time.Second
	pingTimeout = 15 * time.Second
	// lastWait is how long requests have to notice that their time is over.
	lastWait = 5 * time.Second
)

// newServer returns a server with limits for everything but the length of a
// request: watches are long.
func newServer(h http.Handler, log *zap.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          zap.NewStdLog(log),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams,
			SendPingTimeout:      pingAfter,
			PingTimeout:          pingTimeout,
			WriteByteTimeout:     time.Minute,
		},
	}
}

// Serve serves the API over TLS on l, which it closes, until the context ends;
// then it drains: it goes on for the delay, lets requests end within the
// grace, and cuts those that are left.
func (g *Gateway) Serve(ctx context.Context, l net.Listener, config *tls.Config) error {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	server := newServer(g, g.options.Log.Named("http"))
	server.BaseContext = func(net.Listener) context.Context { return base }
	server.TLSConfig = config
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(l, "", "") }()
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

// shutdown ends the server in order. New connections are refused and HTTP/2
// clients told to leave by Shutdown; watches end by themselves once draining;
// what is left after the grace, upgraded connections among it, is cut.
func (g *Gateway) shutdown(server *http.Server, cut context.CancelFunc) {
	drain := g.options.Drain
	time.Sleep(drain.Delay)
	g.drain()
	ctx, cancel := context.WithTimeout(context.Background(), drain.Grace)
	defer cancel()
	err := server.Shutdown(ctx)
	if err == nil {
		err = g.wait(ctx)
	}
	cut()
	if err != nil {
		g.options.Log.Info("requests outlived the grace and are cut", zap.Error(err))
		_ = server.Close()
	}
	last, done := context.WithTimeout(context.Background(), lastWait)
	defer done()
	_ = g.wait(last)
}
