package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"

	"sluice/test/abuse"
	"sluice/test/harness"
)

const (
	// kindsLimit is how long it may take until all informers have synced, and until all of them are served.
	kindsLimit = 5 * time.Minute
	// kindsWindow is how long the CPU of the servers is measured while nothing happens.
	kindsWindow = 30 * time.Second
)

// controllers measures one controller that watches every kind, at the apiserver and at a new Sluice.
func (e *env) controllers(ctx context.Context, r *report) error {
	var token string
	for _, name := range []string{apiserverName, sluiceName} {
		if !e.only.matches("kinds " + name) {
			continue
		}
		if token == "" {
			var err error
			if token, err = e.defineKinds(ctx); err != nil {
				return fmt.Errorf("define %d kinds: %w", e.kinds, err)
			}
		}
		progress("a controller of %d kinds at the %s", e.kinds, name)
		measure := e.controllerAtApiserver
		if name == sluiceName {
			measure = e.controllerAtSluice
		}
		line, err := measure(ctx, token)
		if line != nil {
			r.Kinds = append(r.Kinds, line)
		}
		if err != nil {
			return fmt.Errorf("a controller at the %s: %w", name, err)
		}
	}
	return nil
}

// controller is a factory of client-go with an informer for each kind.
type controller struct {
	dynamicinformer.DynamicSharedInformerFactory
	informers []informers.GenericInformer
	stop      context.CancelFunc
}

// startController starts the informers. They are as fast as the server lets them be.
func (e *env) startController(ctx context.Context, t *target, token string) (*controller, error) {
	config := rest.CopyConfig(t.config)
	config.BearerToken, config.QPS = token, -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &controller{DynamicSharedInformerFactory: dynamicinformer.NewDynamicSharedInformerFactory(client, 0)}
	for i := range e.kinds {
		informer := c.ForResource(kindAt(i))
		_ = informer.Informer() // makes it part of the factory
		c.informers = append(c.informers, informer)
	}
	ctx, c.stop = context.WithCancel(ctx)
	c.Start(ctx.Done())
	return c, nil
}

func (c *controller) end() {
	c.stop()
	c.Shutdown()
}

// synced returns how many informers have synced.
func (c *controller) synced() (n int) {
	for _, i := range c.informers {
		if i.Informer().HasSynced() {
			n++
		}
	}
	return n
}

func (e *env) controllerAtApiserver(ctx context.Context, token string) (*kindsLine, error) {
	t := &target{name: apiserverName, proc: e.apiserver.proc, config: e.controlPlane.RESTConfig(harness.Anonymous)}
	line, c, err := e.controllerAt(ctx, t, token)
	if err != nil {
		return line, err
	}
	defer c.end()
	return line, line.settle(ctx, e, t)
}

func (e *env) controllerAtSluice(ctx context.Context, token string) (*kindsLine, error) {
	s, err := e.controlPlane.StartSluiceMain(harness.SluiceOptions{Binary: "sluice", Flags: []string{"--log-level=warn"}})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := errors.Join(s.Stop(), os.RemoveAll(s.Dir)); err != nil {
			progress("stop: %v", err)
		}
	}()
	t := &target{name: sluiceName, proc: proc(s.PID()), config: s.RESTConfig(harness.Anonymous), sluice: s}
	line, c, err := e.controllerAt(ctx, t, token)
	if err != nil {
		return line, err
	}
	defer c.end()
	if line.Served, err = e.served(ctx, s); err != nil {
		return line, err
	}
	if err := line.settle(ctx, e, t); err != nil {
		return line, err
	}
	if err := s.RestartMain(); err != nil {
		return line, err
	}
	if line.Back, err = e.served(ctx, s); err != nil {
		return line, err
	}
	c.end()
	line.Unread, err = measureIdle(ctx, kindsWindow, []*target{e.apiserver, {name: sluiceName, proc: proc(s.PID())}})
	return line, err
}

// controllerAt starts the controller and waits until it knows all objects. The caller must end it.
func (e *env) controllerAt(ctx context.Context, t *target, token string) (*kindsLine, *controller, error) {
	line := &kindsLine{Target: t.name, Kinds: e.kinds}
	idle, err := measureIdle(ctx, kindsWindow, []*target{e.apiserver})
	if err != nil {
		return nil, nil, err
	}
	line.Without = idle
	before, err := e.apiserver.proc.cpu()
	if err != nil {
		return nil, nil, err
	}
	c, err := e.startController(ctx, t, token)
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	for c.synced() < e.kinds && time.Since(start) < kindsLimit {
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			c.end()
			return nil, nil, err
		}
	}
	line.Seconds, line.Synced = time.Since(start).Seconds(), c.synced()
	after, err := e.apiserver.proc.cpu()
	line.UpstreamCPU = (after - before).Seconds()
	return line, c, err
}

// served waits until all watches are served from the cache.
func (e *env) served(ctx context.Context, s *harness.Sluice) (*servedFigures, error) {
	start, f, last := time.Now(), &servedFigures{}, ""
	for {
		m, err := s.Metrics()
		if err != nil {
			return nil, err
		}
		f.Seconds, f.Watches = time.Since(start).Seconds(), 0
		for _, sample := range m.Samples("sluice_watchers") {
			if sample.Labels["version"] == kindsVersion {
				f.Watches += int(sample.Value)
			}
		}
		f.Passed = abuse.Tally{}
		for _, sample := range m.Samples("sluice_passed_watchers") {
			if sample.Value > 0 {
				f.Passed[cmp.Or(sample.Labels["reason"], "unknown")] += int(sample.Value)
			}
		}
		f.Stores, f.StoresLimit = int64(m.Sum("sluice_stores_bytes")), int64(m.Sum("sluice_stores_limit_bytes"))
		f.Upstream = int(m.Sum("sluice_store_connected"))
		if now := fmt.Sprintf("%d served, passed: %s", f.Watches, f.Passed); now != last {
			progress("%.1f s: %s", f.Seconds, now)
			last = now
		}
		if f.Watches >= e.kinds && len(f.Passed) == 0 || f.Seconds > kindsLimit.Seconds() {
			return f, nil
		}
		if err := sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// settle measures what the watches cost while nothing happens.
func (l *kindsLine) settle(ctx context.Context, e *env, t *target) (err error) {
	targets := []*target{e.apiserver}
	if t.sluice != nil {
		targets = append(targets, t)
	}
	if l.Peak, err = t.proc.peak(); err != nil {
		return err
	}
	l.Watched, err = measureIdle(ctx, kindsWindow, targets)
	return err
}
