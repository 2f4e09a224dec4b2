package connect

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"go.uber.org/zap"

	"sluice/proxy/accept"
	"sluice/proxy/limits"
)

// maxHeaderBytes is the size of a CONNECT, many times over.
const maxHeaderBytes = 4 << 10

// Serve serves the proxy on l, over TLS if config is not nil, and closes l. It accepts connections as
// long as the API does: until the listener of Merge is closed, which must have been created before.
func (p *Proxy) Serve(l net.Listener, config *tls.Config) error {
	server := p.newServer(config)
	failed := make(chan error, 1)
	go func() {
		failed <- server.Serve(limits.Listen(l, limits.ListenerOptions{
			TLS: config, Memory: p.options.Memory,
			Failed: p.options.Handshakes.Failed("proxy", p.options.Log),
		}))
	}()
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("proxy listener: %w", err)
	case <-p.api.Context().Done():
	}
	p.shutdown(server)
	return err
}

// newServer returns a server that speaks only HTTP/1.1, in which a CONNECT takes over its connection,
// and that waits for nothing longer than the API listener does.
func (p *Proxy) newServer(config *tls.Config) *http.Server {
	server := &http.Server{
		Handler:                      p,
		ReadHeaderTimeout:            p.options.Limits.ReadHeaderTimeout.Duration,
		ReadTimeout:                  p.options.Limits.ReadHeaderTimeout.Duration, // of the bodies of refused requests
		WriteTimeout:                 p.options.Limits.ReadHeaderTimeout.Duration + replyTimeout,
		IdleTimeout:                  p.options.Limits.IdleTimeout.Duration,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     zap.NewStdLog(p.options.Log),
		TLSConfig:                    config,
		Protocols:                    new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	return server
}

// shutdown waits for the answers that are being written, which are short.
func (p *Proxy) shutdown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), replyTimeout)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
	p.requests.Wait()
}

// Merge returns a listener that accepts the connections of l and those that the proxy intercepts. The
// proxy shuts down when it is closed. Call it once, before Serve.
func (p *Proxy) Merge(l net.Listener) net.Listener {
	p.api = accept.New(l)
	go p.api.Run(func(c net.Conn) { p.api.Hand(c) })
	return p.api
}
