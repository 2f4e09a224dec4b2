package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
)

// stopLimit bounds each half of the stop. What is not done by then ends with the process, which
// loses nothing: etcd has already written what it acknowledged.
const stopLimit = time.Second

// run starts everything, says so on out, and stays until ctx ends or a part fails.
func run(ctx context.Context, o options, out io.Writer) error {
	if err := makeCerts(o.dir); err != nil {
		return err
	}
	tokens, err := loadTokens(o.dir)
	if err != nil {
		return err
	}
	etcd, address, err := startEtcd(ctx, o.dir)
	if err != nil {
		return err
	}
	defer within(stopLimit, etcd.Close)
	server, err := newAPIServer(o, address)
	if err != nil {
		return err
	}
	if err := writeKubeconfigs(o.dir, server.url(), tokens); err != nil {
		return err
	}
	p := plane{options: o, server: server}
	if o.sample {
		if p.extension, err = newSample(o.dir, address); err != nil {
			return err
		}
	}
	return p.serve(ctx, out)
}

// plane is all that needs etcd.
type plane struct {
	options
	server    *apiserver
	extension *sample // nil unless asked for
}

// serve runs the parts and waits for them.
func (p plane) serve(ctx context.Context, out io.Writer) error {
	g, gctx := errgroup.WithContext(ctx)
	ready := make(chan struct{}) // closed once the apiserver can be used
	start := func(name string, run func(context.Context) error) {
		g.Go(func() error { return part(gctx, name, run) })
	}
	start("kube-apiserver", p.server.run)
	if p.controllers {
		start(controllerCommand, func(ctx context.Context) error { return runControllers(ctx, p.dir, ready) })
	}
	if p.extension != nil {
		start(sampleCommand, func(ctx context.Context) error { return p.extension.run(ctx, ready) })
	}
	start("start", func(ctx context.Context) error {
		if err := p.makeReady(ctx, ready); err != nil {
			return err
		}
		fmt.Fprintf(out, "ready %s dir=%s\n", p.server.url(), p.dir)
		<-ctx.Done()
		return nil
	})
	<-gctx.Done()
	within(stopLimit, func() { g.Wait() })
	if ctx.Err() != nil {
		return nil // asked to stop: how the parts took it does not matter
	}
	return context.Cause(gctx)
}

// part runs one part for as long as ctx lasts. Whatever a part returns before that is a failure.
func part(ctx context.Context, name string, run func(context.Context) error) error {
	err := run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = errors.New("ended by itself")
	}
	return fmt.Errorf("%s: %w", name, err)
}

// within waits for f, but not longer than limit.
func within(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
