package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sluice/codec/splice"
	"sluice/test/harness"
)

const (
	// settle is a pause in which the servers finish opening hundreds of watches.
	settle = time.Second
	// enoughEvents is the number of delivered events per target after which no more rounds are needed.
	enoughEvents = 200_000
)

// fanOutScenarios returns many watches of all pods in each format and content encoding. A round also measures the
// updates without watchers, as if they were a target.
func fanOutScenarios(o *options) []*scenario {
	var all []*scenario
	for _, name := range o.watches {
		for _, encoding := range o.watchEncodes {
			for _, n := range o.watchers {
				all = append(all, watching{formatOf(name), encoding, n, ""}.fanOut(o))
			}
		}
	}
	return o.selected(all)
}

func (c watching) fanOut(o *options) *scenario {
	var event, frame []byte // as the apiserver sends it, and as the floor does
	return &scenario{
		table: watchTable, name: fmt.Sprintf("watch %s %s x%d", c.format.name, c.encoding, c.watchers), verb: "WATCH",
		clients: c.watchers, rounds: o.rounds,
		enough: func(all samples) bool { return len(all[updateName])*o.updates*c.watchers >= enoughEvents },
		world: func(ctx context.Context, w *world, _ *row) []*target {
			for _, t := range w.targets() {
				t.close() // so that each connection carries only watches of this scenario
			}
			event = c.sample(ctx, w)
			frame = c.prepareFloor(ctx, w, event)
			return []*target{{name: updateName}, w.apiserver, w.cached, w.bare}
		},
		op: func(ctx context.Context, w *world, s *scenario, t *target) *sample {
			if t.name == updateName {
				return w.updatesAlone(ctx, true)
			}
			return c.round(ctx, w, s, t, frame)
		},
		sum: func(_ *world, r *row, all samples) {
			var each []float64
			for _, s := range all[updateName] {
				each = append(each, s.cpu[apiserverName].Seconds())
			}
			alone, _ := median(each)
			r.By[updateName] = &figures{Requests: o.updates, CPU: alone / float64(o.updates), Bytes: float64(len(event))}
			delete(all, updateName)
			for target, rounds := range all {
				r.By[target] = watchFigures(target, rounds, time.Duration(alone*float64(time.Second)))
			}
			r.Source = merged(all[sluiceName], servedFrom).String()
		},
	}
}

// watchFigures makes the figures of a target from the rounds. The CPU of the updates themselves is not part
// of the cost of watching.
func watchFigures(target string, rounds []*sample, alone time.Duration) *figures {
	f := &figures{}
	var cpu, client []float64
	for _, s := range rounds {
		s.plane = s.cpu[apiserverName] - alone
		events := float64(len(s.walls))
		cpu, client = append(cpu, s.cost(target).Seconds()/events), append(client, s.client.Seconds()/events)
		f.Bytes += float64(s.bytes) / events / float64(len(rounds))
		f.Peak, f.Watches = max(f.Peak, s.peak[target]), max(f.Watches, s.watches)
	}
	f.CPU, f.CPUSpread = median(cpu)
	f.Client, _ = median(client)
	f.timed(wallsOf(rounds))
	return f
}

// round opens the watches at one target, updates pods and waits until every watch has received every event.
func (c watching) round(ctx context.Context, w *world, s *scenario, t *target, frame []byte) *sample {
	w.awaitClosed(ctx)
	before := w.count(t, s.verb)
	got := c.deliver(ctx, w, t, w.updates, func(*watchers) []time.Time {
		return pace(ctx, w.rate, w.updates, func(ctx context.Context) {
			w.updatePod(ctx) // as much work for the machine at the floor as at the other targets
			if t == w.bare {
				w.floor.send(ctx, frame)
			}
		})
	})
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
	check(open.finish(ctx, events))
	used, wall, watches := m.read(), time.Since(m.began), must(w.plane.PodWatches(ctx))
	check(open.close())
	return &sample{usage: used, walls: open.delays(acknowledged), bytes: open.bytes(), wall: wall, watches: watches - w.ownWatches}
}

// prepareFloor makes the floor's watches begin in the encoding of the case, and returns the frame in it.
func (c watching) prepareFloor(ctx context.Context, w *world, frame []byte) []byte {
	begin := &harness.Response{}
	if c.encoding != identity {
		begin.Header, begin.Body = http.Header{"Content-Encoding": {c.encoding}}, splice.NewStream(splice.Gzip).Begin(nil)
		frame = splice.Gzip.Compress(nil, frame).Data
	}
	w.floor.put(ctx, floorWatch, begin)
	return frame
}

// sample returns the frame of an update as the apiserver sends it.
func (c watching) sample(ctx context.Context, w *world) []byte {
	ctx, cancel := context.WithTimeout(ctx, deliverLimit)
	defer cancel()
	c.encoding = identity
	one := c.openOne(ctx, w.apiserver.connection(0), c.pathAt(w.apiserver, w.version(ctx)), 1)
	defer one.body.Close()
	w.updatePod(ctx)
	frames := framesOf(&one.body, c.frames)
	if !frames.Scan() {
		check(endOf(frames))
	}
	return frames.Bytes()
}
