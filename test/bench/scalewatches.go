package main

import (
	"context"
	"fmt"
	"time"
)

// stalledOf is of how many watches one stops reading.
const stalledOf = 20

// scaleOfWatches measures the delay of events at many watches, all of which read, and then while some do not.
func scaleOfWatches(ctx context.Context, w *world, r *report) {
	w.know()
	stalled := (w.watchers + stalledOf - 1) / stalledOf
	for _, t := range w.targets() {
		row := newRow(stalledTable, fmt.Sprintf("%d at the %s", w.watchers, t.name))
		row.Target, row.Clients = t.name, w.watchers
		row.By[quietly] = w.delays(ctx, t, w.watchers, 0)
		row.By[attacked] = w.delays(ctx, t, w.watchers-stalled, stalled)
		row.By[attacked].Peak = max(row.By[quietly].Peak, row.By[attacked].Peak)
		r.add(row)
		t.close()
	}
}

// delays opens watches, updates pods one after the other, each once all watches that read have received the
// one before, and returns the delays of the events.
func (w *world) delays(ctx context.Context, t *target, reading, stalled int) *figures {
	progress("%d watches at the %s, of which %d do not read", reading+stalled, t.name, stalled)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := watching{format: formatOf("json"), encoding: identity, watchers: reading}
	openStalled(ctx, t, c.pathAt(t, w.version(ctx)), stalled)
	got := c.deliver(ctx, w, t, w.updates, func(open *watchers) (acknowledged []time.Time) {
		for i := range w.updates {
			w.updatePod(ctx)
			acknowledged = append(acknowledged, time.Now())
			open.wait(ctx, i+1)
		}
		return acknowledged
	})
	f := &figures{CPU: got.cpu[t.name].Seconds() / float64(len(got.walls)), Peak: got.peak[t.name], Watches: stalled}
	f.timed(got.walls)
	return f
}
