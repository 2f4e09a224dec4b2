package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// feedTime is how long a feed lasts.
const feedTime = 3 * time.Second

// feed updates the pods of one namespace so many times per second, while one client watches them at the
// target, and measures until it has received all events.
func (w *world) feed(ctx context.Context, t *target, rate int) (_ *row, err error) {
	defer fails(&err)
	progress("feed of %d events/s to the %s", rate, t.name)
	version := must(w.version(ctx))
	events := int(float64(rate) * feedTime.Seconds())
	c := watching{formatOf("protobuf"), identity, 1, "/api/v1/namespaces/" + scaledNamespace(0) + "/pods"}
	open := must(c.open(ctx, t, version, events))
	defer open.close()
	m := must(newMeter(w.background, w.targets()...))
	check(w.writeFeed(ctx, events, rate))
	written := time.Since(m.began)
	r := newRow(feedTable, fmt.Sprintf("%d to the %s", rate, t.name))
	if err := open.finish(ctx, events); ctx.Err() != nil {
		return nil, err
	} else if err != nil {
		r.note("%v", err)
	}
	used := must(m.read())
	f := &figures{Requests: events, Rate: float64(events) / written.Seconds(), Seconds: (time.Since(m.began) - written).Seconds()}
	f.CPU, f.Upstream = used.cpu[t.name].Seconds()/float64(events), used.cpu[apiserverName].Seconds()/float64(events)
	r.Target, r.By[t.name] = t.name, f
	return r, nil
}

// writeFeed updates pods.
func (w *world) writeFeed(ctx context.Context, n, rate int) error {
	pods := w.scaledUpdates()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(storers)
	begin := time.Now()
	for i := range n {
		if err := sleep(ctx, time.Until(begin.Add(time.Duration(i)*time.Second/time.Duration(rate)))); err != nil {
			break
		}
		g.Go(func() error { return w.storePod(ctx, pods[i%len(pods)], i) })
	}
	return g.Wait()
}
