package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sluice/codec/splice"
	"sluice/test/harness"
)

// settle is a pause in which the servers finish opening hundreds of watches.
const settle = time.Second

// fanOutScenarios returns many watches of all pods, plain and in gzip.
func fanOutScenarios(o *options) []*scenario {
	var all []*scenario
	for _, encoding := range []string{identity, "gzip"} {
		all = append(all, watching{format: formatOf("json"), encoding: encoding, watchers: o.watchers}.fanOut(o))
	}
	return o.selected(all)
}

// fanOut makes a scenario of the watches.
func (c watching) fanOut(o *options) *scenario {
	return &scenario{
		table: watchTable, name: fmt.Sprintf("watch %s %s x%d", c.format.name, c.encoding, c.watchers), verb: "WATCH",
		clients: c.watchers, rounds: o.rounds,
		world: func(ctx context.Context, w *world, _ *row) []*target {
			for _, t := range w.targets() {
				t.close() // so that each connection carries only watches of this scenario
			}
			c.prepareFloor(ctx, w)
			w.priceUpdates(ctx, true)
			return []*target{w.apiserver, w.cached, w.bare}
		},
		op:      c.round,
		figures: func(target string, rounds []*sample) *figures { return costFigures(target, rounds, false) },
	}
}

// round opens the watches at one target, updates pods and waits until every watch has received every event.
func (c watching) round(ctx context.Context, w *world, s *scenario, t *target) *sample {
	before := w.count(t, s.verb)
	got := c.deliver(ctx, w, t, w.updates, func(*watchers) []time.Time {
		return pace(ctx, w.rate, w.updates, func(ctx context.Context) {
			w.updatePod(ctx) // as much work for the machine at the floor as at the other targets
			if t == w.bare {
				w.floor.send()
			}
		})
	})
	got.plane = max(0, got.cpu[apiserverName]-time.Duration(w.updates)*w.updateCost[true])
	got.counted = w.countSince(ctx, t, s.verb, before, c.watchers)
	return got
}

// deliver opens the watches, has pods updated and measures until all watches have received all events.
func (c watching) deliver(ctx context.Context, w *world, t *target, events int, update func(*watchers) []time.Time) *sample {
	open := c.open(ctx, t, w.version(ctx), events)
	defer open.cancel()
	sleep(ctx, settle)
	m := w.meter()
	acknowledged := update(open)
	open.wait(ctx, events)
	used := m.read()
	check(open.close())
	return &sample{usage: used, walls: open.delays(acknowledged), bytes: open.bytes()}
}

// prepareFloor makes the floor's watches begin in the encoding of the case, and prepares the frame of an update in it.
func (c watching) prepareFloor(ctx context.Context, w *world) {
	begin := &harness.Response{}
	w.floor.frame = c.sample(ctx, w)
	if c.encoding != identity {
		begin.Header, begin.Body = http.Header{"Content-Encoding": {c.encoding}}, splice.NewStream(splice.Gzip).Begin(nil)
		w.floor.frame = splice.Gzip.Compress(nil, w.floor.frame).Data
	}
	w.floor.put(floorWatch, begin)
}

// sample returns the frame of an update as the apiserver sends it.
func (c watching) sample(ctx context.Context, w *world) []byte {
	ctx, cancel := context.WithTimeout(ctx, deliverLimit)
	defer cancel()
	c.encoding = identity
	one := c.openOne(ctx, w.apiserver.connection(0), c.pathAt(w.apiserver, w.version(ctx)), 1)
	defer one.body.Close()
	w.updatePod(ctx)
	frames := framesOf(one.body, c.frames)
	if !frames.Scan() {
		check(endOf(frames))
	}
	return frames.Bytes()
}
