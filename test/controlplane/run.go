package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
)

// stopLimit limits each of the two steps of stopping. The process may exit before they are done: etcd
// has already written what it has acknowledged.
const stopLimit = time.Second

// run starts the control plane, prints a line to out when it is ready, and runs until ctx ends or a
// component fails.
func run(ctx context.Context, o options, out io.Writer) error {
	if err := makeCerts(o.dir, net.IP(o.address.AsSlice())); err != nil {
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
	if err := o.dir.write(etcdFile, []byte(address)); err != nil {
		return err
	}
	server, err := newAPIServer(o, address)
	if err != nil {
		return err
	}
	if err := writeKubeconfigs(o.dir, server.url(), tokens); err != nil {
		return err
	}
	p := components{options: o, server: server}
	if o.sample {
		if p.extension, err = newSample(o.dir, address); err != nil {
			return err
		}
	}
	return p.serve(ctx, out)
}

// components are the components that use etcd.
type components struct {
	options
	server    *apiserver
	extension *sample // nil without --sample
}

// serve runs the components and waits for them.
func (p components) serve(ctx context.Context, out io.Writer) error {
	g, gctx := errgroup.WithContext(ctx)
	ready := make(chan struct{}) // closed when the apiserver is ready
	start := func(name string, run func(context.Context) error) {
		g.Go(func() error { return runComponent(gctx, name, run) })
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
		return nil // stopped on request: errors of components do not matter
	}
	return context.Cause(gctx)
}

// runComponent runs a component until ctx ends. Returning before that is an error.
func runComponent(ctx context.Context, name string, run func(context.Context) error) error {
	err := run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = errors.New("returned early")
	}
	return fmt.Errorf("%s: %w", name, err)
}

// within waits until f returns, at most for limit.
func within(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}
