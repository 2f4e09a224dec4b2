package main

import (
	"context"
	"fmt"
	"time"
)

// scaleOfWatches measures the delay of events at many watches, all of which read, and then while some
// do not.
func scaleOfWatches(ctx context.Context, w *world, r *report) error {
	for _, n := range w.watchers {
		for _, t := range w.targets() {
			row := newRow(stalledTable, fmt.Sprintf("%d at the %s", n, t.name))
			row.Target, row.Clients = t.name, n
			var peak int64
			for _, stalled := range []int{0, w.stalled} {
				moment := quietly
				if stalled > 0 {
					moment = attacked
				}
				progress("%d watches at the %s, of which %d do not read", n, t.name, stalled)
				f, err := w.delays(ctx, t, n-stalled, stalled)
				if err != nil {
					return fmt.Errorf("%s, %d watches: %w", t.name, n, err)
				}
				row.By[moment], peak = f, max(peak, f.Peak)
			}
			row.By[attacked].Peak = peak
			r.add(row)
			t.close()
		}
	}
	return nil
}

// delays opens watches, updates pods one after the other, each once all watches that read have received the
// one before, and returns the delays of the events.
func (w *world) delays(ctx context.Context, t *target, reading, stalled int) (_ *figures, err error) {
	defer fails(&err)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	version := must(w.version(ctx))
	c := watching{formatOf("json"), identity, reading, ""}
	check(openStalled(ctx, t, c.pathAt(t, version), stalled))
	got := must(c.deliver(ctx, w, t, w.updates, func(ctx context.Context, open *watchers) (acknowledged []time.Time, err error) {
		defer fails(&err)
		pods := w.scaledUpdates()
		for i := range w.updates {
			check(w.storePod(ctx, pods[i%len(pods)], i))
			acknowledged = append(acknowledged, time.Now())
			check(open.wait(ctx, i+1))
		}
		return acknowledged, nil
	}))
	f := &figures{CPU: got.cpu[t.name].Seconds() / float64(len(got.walls)), Peak: got.peak[t.name], Watches: stalled}
	f.timed(got.walls)
	return f, nil
}
