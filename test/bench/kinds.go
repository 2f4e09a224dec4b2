package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

const (
	// kindsLimit is how long it may take until all informers have synced, and until all of them are served.
	kindsLimit = 5 * time.Minute
	// kindsWindow is how long the CPU of the servers is measured while nothing happens.
	kindsWindow = 30 * time.Second
)

// controllers measures one controller that watches every kind, at the apiserver and at a new Sluice.
func (w *world) controllers(ctx context.Context, r *report) error {
	var token string
	for _, name := range []string{apiserverName, sluiceName} {
		if !w.only.matches("kinds " + name) {
			continue
		}
		if token == "" {
			var err error
			if token, err = w.defineKinds(ctx); err != nil {
				return fmt.Errorf("define %d kinds: %w", w.kinds, err)
			}
		}
		progress("a controller of %d kinds at the %s", w.kinds, name)
		measure := w.controllerAtApiserver
		if name == sluiceName {
			measure = w.controllerAtSluice
		}
		line, err := measure(ctx, token)
		if line != nil {
			r.add(line)
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
func (w *world) startController(ctx context.Context, t *target, token string) (*controller, error) {
	config := rest.CopyConfig(t.config)
	config.BearerToken, config.QPS = token, -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &controller{DynamicSharedInformerFactory: dynamicinformer.NewDynamicSharedInformerFactory(client, 0)}
	for i := range w.kinds {
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

func (w *world) controllerAtApiserver(ctx context.Context, token string) (*row, error) {
	t := w.direct(harness.Anonymous)
	r, c, err := w.controllerAt(ctx, t, token)
	if err != nil {
		return r, err
	}
	defer c.end()
	return r, w.idleWith(ctx, r, attacked, t)
}

func (w *world) controllerAtSluice(ctx context.Context, token string) (r *row, err error) {
	err = w.withSluice(ctx, harness.SluiceOptions{}, func(t *target) error {
		var c *controller
		if r, c, err = w.controllerAt(ctx, t, token); err != nil {
			return err
		}
		defer c.end()
		if r.By[serving], err = w.served(ctx, t.sluice); err != nil {
			return err
		}
		if err := w.idleWith(ctx, r, attacked, t); err != nil {
			return err
		}
		if err := t.sluice.RestartMain(); err != nil {
			return err
		}
		t.proc = proc(t.sluice.PID())
		if r.By[returning], err = w.served(ctx, t.sluice); err != nil {
			return err
		}
		c.end()
		return w.idleWith(ctx, r, afterwards, t)
	})
	return r, err
}

// idleWith measures what the target, and the apiserver, need at a moment while nothing happens.
func (w *world) idleWith(ctx context.Context, r *row, moment string, t *target) error {
	targets := []*target{w.apiserver}
	if t.sluice != nil {
		targets = append(targets, t)
	}
	idle, err := measureIdle(ctx, kindsWindow, targets...)
	for name, f := range idle {
		r.By[at(moment, name)] = f
	}
	return err
}

// controllerAt starts the controller and waits until it knows all objects. The caller must end it.
func (w *world) controllerAt(ctx context.Context, t *target, token string) (*row, *controller, error) {
	r := newRow(kindsTable, t.name)
	r.Target, r.Objects = t.name, w.kinds
	if err := w.idleWith(ctx, r, quietly, w.apiserver); err != nil {
		return nil, nil, err
	}
	m, err := newMeter(0, w.apiserver, &target{name: "server", proc: t.proc})
	if err != nil {
		return nil, nil, err
	}
	c, err := w.startController(ctx, t, token)
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	for c.synced() < w.kinds && time.Since(start) < kindsLimit {
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			c.end()
			return nil, nil, err
		}
	}
	f := &figures{Seconds: time.Since(start).Seconds(), Watches: c.synced()}
	used, err := m.read()
	if err != nil {
		c.end()
		return nil, nil, err
	}
	f.Upstream, f.Peak = used.cpu[apiserverName].Seconds(), used.peak["server"]
	r.By[joining] = f
	return r, c, nil
}

// served waits until all watches are served from the cache.
func (w *world) served(ctx context.Context, s *harness.Sluice) (*figures, error) {
	start, f, last := time.Now(), &figures{}, ""
	for {
		m, err := s.Metrics()
		if err != nil {
			return nil, err
		}
		f.Seconds, f.Requests = time.Since(start).Seconds(), 0
		for _, sample := range m.Samples("sluice_watchers") {
			if sample.Labels["version"] == kindsVersion {
				f.Requests += int(sample.Value)
			}
		}
		f.Counts = tally{}
		for _, sample := range m.Samples("sluice_passed_watchers") {
			if sample.Value > 0 {
				f.Counts[cmp.Or(sample.Labels["reason"], "unknown")] += sample.Value
			}
		}
		f.Bytes, f.Limit = m.Sum("sluice_stores_bytes"), int64(m.Sum("sluice_stores_limit_bytes"))
		f.Watches = int(m.Sum("sluice_store_connected"))
		if now := fmt.Sprintf("%d served, passed: %s", f.Requests, f.Counts.reasons()); now != last {
			progress("%.1f s: %s", f.Seconds, now)
			last = now
		}
		if f.Requests >= w.kinds && len(f.Counts) == 0 || f.Seconds > kindsLimit.Seconds() {
			return f, nil
		}
		if err := sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}
