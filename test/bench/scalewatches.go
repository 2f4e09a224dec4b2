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
