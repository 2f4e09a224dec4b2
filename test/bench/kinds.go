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
func (w *world) controllers(ctx context.Context, r *report) {
	direct, cached := w.only.matches("kinds "+apiserverName), w.only.matches("kinds "+sluiceName)
	if !direct && !cached {
		return
	}
	token := w.defineKinds(ctx)
	if direct {
		w.controllerAt(ctx, r, w.direct(harness.Anonymous), token)
	}
	if cached {
		w.withSluice(harness.SluiceOptions{}, func(t *target) { w.controllerAt(ctx, r, t, token) })
	}
}

// controller is a factory of client-go with an informer for each kind.
type controller struct {
	dynamicinformer.DynamicSharedInformerFactory
	informers []informers.GenericInformer
	stop      context.CancelFunc
}

// startController starts the informers. They are as fast as the server lets them be.
func (w *world) startController(ctx context.Context, t *target, token string) *controller {
	config := rest.CopyConfig(t.config)
	config.BearerToken, config.QPS = token, -1
	client := must(dynamic.NewForConfig(config))
	c := &controller{DynamicSharedInformerFactory: dynamicinformer.NewDynamicSharedInformerFactory(client, 0)}
	for i := range w.kinds {
		informer := c.ForResource(kindAt(i))
		_ = informer.Informer() // makes it part of the factory
		c.informers = append(c.informers, informer)
	}
	ctx, c.stop = context.WithCancel(ctx)
	c.Start(ctx.Done())
	return c
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

// idleWith measures what the target, and the apiserver, need at a moment while nothing happens.
func (w *world) idleWith(ctx context.Context, r *row, moment string, t *target) {
	targets := []*target{w.apiserver}
	if t.sluice != nil {
		targets = append(targets, t)
	}
	for name, f := range measureIdle(ctx, kindsWindow, targets...) {
		r.By[at(moment, name)] = f
	}
}

// controllerAt starts the controller, waits until it knows all objects, and measures what its watches cost, at a Sluice
// also after a restart and without the controller.
func (w *world) controllerAt(ctx context.Context, rep *report, t *target, token string) {
	progress("a controller of %d kinds at the %s", w.kinds, t.name)
	r := newRow(kindsTable, t.name)
	r.Target, r.Objects = t.name, w.kinds
	rep.add(r)
	w.idleWith(ctx, r, quietly, w.apiserver)
	m := newMeter(0, w.apiserver, &target{name: "server", proc: t.proc})
	c := w.startController(ctx, t, token)
	defer c.end()
	poll(ctx, 50*time.Millisecond, kindsLimit, func() bool { return c.synced() >= w.kinds })
	f := &figures{Seconds: time.Since(m.began).Seconds(), Watches: c.synced()}
	used := m.read()
	f.Upstream, f.Peak = used.cpu[apiserverName].Seconds(), used.peak["server"]
	r.By[joining] = f
	if t.sluice == nil {
		w.idleWith(ctx, r, attacked, t)
		return
	}
	r.By[serving] = w.served(ctx, t.sluice)
	w.idleWith(ctx, r, attacked, t)
	t.restart()
	r.By[returning] = w.served(ctx, t.sluice)
	c.end()
	w.idleWith(ctx, r, afterwards, t)
}

// served waits until all watches are served from the cache.
func (w *world) served(ctx context.Context, s *harness.Sluice) *figures {
	start, f, last := time.Now(), &figures{}, ""
	poll(ctx, time.Second, kindsLimit, func() bool {
		m := must(s.Metrics())
		f.Seconds, f.Requests, f.Counts = time.Since(start).Seconds(), 0, tally{}
		for _, sample := range m.Samples("sluice_watchers") {
			if sample.Labels["version"] == kindsVersion {
				f.Requests += int(sample.Value)
			}
		}
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
		return f.Requests >= w.kinds && len(f.Counts) == 0
	})
	return f
}
