package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"sluice/cmd/sluice/memory"
	"sluice/config"
	"sluice/proxy/auth"
	"sluice/proxy/limits"
)

func serveCommand() *cobra.Command {
	f := flags{overrides: &config.File{}}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API of the apiserver in the kubeconfig",
		Example: `  sluice serve --listen 127.0.0.1:8443
  sluice serve --config sluice.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return serve(c.Context(), newReloader(f.config, func() (*config.File, error) { return f.file(c.Flags()) }))
		},
	}
	f.register(c.Flags())
	return c
}

// serve serves until ctx ends, and then drains the API listener. It prints one line to stdout once
// all listeners are open.
func serve(ctx context.Context, r *reloader) error {
	file, err := r.load()
	if err != nil {
		return err
	}
	memory.TuneGC()
	limit := memory.SetLimit()
	log, level, err := newLogger(file.Log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }() // fails on a terminal
	// Before build, which writes certificates: a start that fails leaves nothing behind.
	var listeners [3]net.Listener
	for i, l := range [...]struct{ name, address, flag string }{
		{"API", file.Listen, "--listen"}, {"admin", file.Admin.Listen, "--admin-listen"}, {"proxy", file.Proxy.Listen, "--proxy-listen"},
	} {
		if l.address == "" {
			continue
		}
		if listeners[i], err = net.Listen("tcp", l.address); err != nil {
			return fmt.Errorf("%s listener: %w; choose another address with %s", l.name, err, l.flag)
		}
		defer listeners[i].Close()
	}
	api, adminListener, proxyListener := listeners[0], listeners[1], listeners[2]
	metrics := newMetrics()
	c, err := build(file, log, metrics)
	if err != nil {
		return err
	}
	c.logLevel, c.reloader = level, r
	r.apply, r.log, r.metrics = c.reload, log.Named("config"), metrics.reload
	r.running.Store(file)
	defer c.upstream.Close()
	if limit > 0 {
		log.Info("memory limit set", zap.Int64("bytes", limit))
	}
	if c.proxy != nil {
		c.proxy.listener, api = proxyListener, c.proxy.Merge(api) // closing that ends the proxy
		defer api.Close()
	}
	log.Info("serving", zap.String("version", version), zap.Stringer("address", api.Addr()),
		zap.Stringer("admin", adminListener.Addr()), zap.String("upstream", c.upstream.Address()))
	scheme := "https"
	if c.adminTLS == nil {
		scheme = "http"
	}
	fmt.Printf("ready https://%s admin %s://%s%s\n", api.Addr(), scheme, adminListener.Addr(), c.proxy.ready())
	return c.run(ctx, api, adminListener, c.background())
}

// run serves until ctx ends or something fails. Tasks in the background and the admin listener, which an API
// listener needs while it drains, end after it.
func (c *components) run(ctx context.Context, api, adminListener net.Listener, inBackground []task) error {
	group, ctx := errgroup.WithContext(ctx)
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error {
		defer cancel()
		return c.gateway.Serve(ctx, api, c.tls)
	})
	context.AfterFunc(ctx, func() { c.stopping.Store(true) })
	c.ready.Add("shutdown", func() error {
		if ctx.Err() != nil {
			return errors.New("process is shutting down")
		}
		return nil
	})
	if c.proxy != nil {
		group.Go(func() error { return c.proxy.Serve(c.proxy.listener, c.proxy.tls) })
	}
	for _, run := range inBackground {
		group.Go(func() error { return run(background) })
	}
	group.Go(func() error { return c.serveAdmin(background, adminListener) })
	return group.Wait()
}

const (
	// adminHeaderBytes and adminStreams limit the header of a request to the admin listener, and the requests of a connection,
	// which hold memory while nobody reads their responses.
	adminHeaderBytes, adminStreams = 16 << 10, 8
	// adminWriteTimeout bounds a response, of which reviews take 20 s at most and the page 10 s. Profiles add their own time.
	adminWriteTimeout = 35 * time.Second
)

// serveAdmin serves health checks, metrics and the like on l until ctx ends.
func (c *components) serveAdmin(ctx context.Context, l net.Listener) error {
	log := c.log.Named("admin")
	server := limits.NewServer(c.admin, limits.ServerOptions{
		HeaderBytes: adminHeaderBytes, Streams: adminStreams, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		Log: zap.NewStdLog(log),
	})
	server.WriteTimeout = adminWriteTimeout
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return limits.ConnContext(auth.ConnContext(ctx, conn), conn)
	}
	server.TLSConfig = c.adminTLS.Clone()
	l = limits.Listen(l, limits.ListenerOptions{
		TLS: c.adminTLS, Memory: c.memory, Failed: c.handshakes.Failed("admin", log),
	})
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin listener: %w", err)
	}
	return nil
}
