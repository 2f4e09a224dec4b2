package main

import (
	"context"
	"fmt"
	"time"
)

// scaleOfWatches measures the delay of events at many watches, all of which read, and then while some
// do not.
func scaleOfWatches(ctx context.Context, w *world, r *report) {
	for _, n := range w.watchers {
		for _, t := range w.targets() {
			row := newRow(stalledTable, fmt.Sprintf("%d at the %s", n, t.name))
			row.Target, row.Clients = t.name, n
			row.By[quietly] = w.delays(ctx, t, n, 0)
			row.By[attacked] = w.delays(ctx, t, n-w.stalled, w.stalled)
			row.By[attacked].Peak = max(row.By[quietly].Peak, row.By[attacked].Peak)
			r.add(row)
			t.close()
		}
	}
}

// delays opens watches, updates pods one after the other, each once all watches that read have received the
// one before, and returns the delays of the events.
func (w *world) delays(ctx context.Context, t *target, reading, stalled int) *figures {
	progress("%d watches at the %s, of which %d do not read", reading+stalled, t.name, stalled)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := watching{formatOf("json"), identity, reading, ""}
	openStalled(ctx, t, c.pathAt(t, w.version(ctx)), stalled)
	got := c.deliver(ctx, w, t, w.updates, func(open *watchers) (acknowledged []time.Time) {
		pods := w.scaledUpdates()
		for i := range w.updates {
			w.storePod(ctx, pods[i%len(pods)], i)
			acknowledged = append(acknowledged, time.Now())
			open.wait(ctx, i+1)
		}
		return acknowledged
	})
	f := &figures{CPU: got.cpu[t.name].Seconds() / float64(len(got.walls)), Peak: got.peak[t.name], Watches: stalled}
	f.timed(got.walls)
	return f
}

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
