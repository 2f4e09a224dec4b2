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

	"sluice/config"
)

func serveCommand() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API of the apiserver in the kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			file, err := f.file(c.Flags())
			if err != nil {
				return err
			}
			return serve(c.Context(), file)
		},
	}
	f.register(c.Flags())
	return c
}

// serve serves until ctx ends, and then drains the API listener. It prints one line to stdout once
// both listeners are open.
func serve(ctx context.Context, file *config.File) error {
	setGCPercent()
	log, err := newLogger(file.Log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }() // fails on a terminal
	c, err := build(file, log, newMetrics())
	if err != nil {
		return err
	}
	defer c.upstream.Close()
	api, err := net.Listen("tcp", file.Listen)
	if err != nil {
		return fmt.Errorf("API listener: %w", err)
	}
	defer api.Close()
	adminListener, err := net.Listen("tcp", file.Admin.Listen)
	if err != nil {
		return fmt.Errorf("admin listener: %w", err)
	}
	log.Info("serving", zap.String("version", version), zap.Stringer("address", api.Addr()),
		zap.Stringer("admin", adminListener.Addr()), zap.String("upstream", c.upstream.Address()))
	fmt.Printf("ready https://%s admin http://%s\n", api.Addr(), adminListener.Addr())
	return c.run(ctx, api, adminListener)
}

// run runs the components until ctx ends or one fails. The background components and the admin
// listener, which an API listener needs while it drains, end after it.
func (c *components) run(ctx context.Context, api, adminListener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error {
		defer cancel()
		return c.gateway.Serve(ctx, api, c.tls)
	})
	c.ready.Add("shutdown", func() error {
		if ctx.Err() != nil {
			return errors.New("process is shutting down")
		}
		return nil
	})
	for _, run := range c.background {
		group.Go(func() error { return run(background) })
	}
	group.Go(func() error { return serveAdmin(background, adminListener, c.admin) })
	return group.Wait()
}

// serveAdmin serves h on l until ctx ends.
func serveAdmin(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin listener: %w", err)
	}
	return nil
}
