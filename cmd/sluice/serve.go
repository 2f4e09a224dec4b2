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
		Short: "Serve the API of the apiserver that the kubeconfig names",
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

// serve runs until the context ends, and then drains the API; feeds and the
// admin listener go on until that is done, so that the end can be watched.
func serve(ctx context.Context, file *config.File) error {
	collect()
	log, err := newLogger(file.Log)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }() // a terminal cannot be synced
	parts, err := assemble(file, log, newInstruments())
	if err != nil {
		return err
	}
	defer parts.upstream.Close()
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
		zap.Stringer("admin", adminListener.Addr()), zap.String("upstream", parts.upstream.Address()))
	fmt.Printf("ready https://%s admin http://%s\n", api.Addr(), adminListener.Addr())
	return parts.run(ctx, api, adminListener)
}

// run runs the parts. Those that others need live on behind ctx until those
// have ended.
func (p *parts) run(ctx context.Context, api, adminListener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	behind, end := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error {
		defer end()
		return p.gateway.Serve(ctx, api, p.tls)
	})
	p.checks.Add("shutdown", func() error {
		if ctx.Err() != nil {
			return errors.New("process is shutting down")
		}
		return nil
	})
	for _, run := range p.background {
		group.Go(func() error { return run(behind) })
	}
	group.Go(func() error { return serveAdmin(behind, adminListener, p.admin) })
	return group.Wait()
}

// serveAdmin serves the admin listener until the context ends.
func serveAdmin(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin listener: %w", err)
	}
	return nil
}
