package main

import (
	"context"
	"fmt"
	"time"
)

// feedTime is how long a feed lasts.
const feedTime = 3 * time.Second

// feed updates the pods of one namespace so many times per second, while one client watches them at the
// target, and measures until it has received all events.
func (w *world) feed(ctx context.Context, t *target, rate int) *row {
	progress("feed of %d events/s to the %s", rate, t.name)
	events := int(float64(rate) * feedTime.Seconds())
	c := watching{formatOf("protobuf"), identity, 1, "/api/v1/namespaces/" + scaledNamespace(0) + "/pods"}
	open := c.open(ctx, t, w.version(ctx), events)
	defer open.close()
	m := w.meter()
	w.writeFeed(ctx, events, rate)
	written := time.Since(m.began)
	r := newRow(feedTable, fmt.Sprintf("%d to the %s", rate, t.name))
	if err := open.finish(ctx, events); err != nil {
		check(ctx.Err())
		r.note("%v", err)
	}
	used := m.read()
	f := &figures{Requests: events, Rate: float64(events) / written.Seconds(), Seconds: (time.Since(m.began) - written).Seconds()}
	f.CPU, f.Upstream = used.cpu[t.name].Seconds()/float64(events), used.cpu[apiserverName].Seconds()/float64(events)
	r.Target, r.By[t.name] = t.name, f
	return r
}

// writeFeed updates pods.
func (w *world) writeFeed(ctx context.Context, n, rate int) {
	pods := w.scaledUpdates()
	g, ctx := newGroup(ctx, storers)
	begin := time.Now()
	for i := range n {
		if !slept(ctx, time.Until(begin.Add(time.Duration(i)*time.Second/time.Duration(rate)))) {
			break
		}
		g.run(func() { w.storePod(ctx, pods[i%len(pods)], i) })
	}
	g.wait()
}
