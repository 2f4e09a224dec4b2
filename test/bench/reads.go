package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"sluice/test/harness"
)

// reads are queries that clients repeat, each client over a connection of its own.
type reads struct {
	// query returns what a client asks a target.
	query  func(w *world, t *target, client int) query
	window time.Duration // in which reads start; each client reads once at least
	most   int           // reads of a client; 0 means as many as the window has
	// before runs before each read of a single client, beside the clock and the meter; nil means nothing.
	before func(*world, context.Context)
}

// op makes the reads the operation of a scenario.
func (rs reads) op(ctx context.Context, w *world, s *scenario, t *target) *sample {
	t.connection(s.clients - 1) // goroutines may share only connections that exist
	before := w.count(t, s.verb)
	m := w.meter()
	stop := churn(ctx, s.load.rate, w.updating(s.load.pods))
	var got *sample
	err := try(func() { got = rs.repeat(ctx, w, t, s.clients, m) })
	n := stop()
	check(err)
	got.usage, got.wall = m.read(), time.Since(m.began)
	got.plane = max(0, got.cpu[apiserverName]-time.Duration(n)*w.updateCost[s.load.pods])
	got.counted = w.countSince(ctx, t, s.verb, before, got.requests)
	return got
}

// repeat has every client read until the window ends.
func (rs reads) repeat(ctx context.Context, w *world, t *target, clients int, m *meter) *sample {
	var (
		all   sample
		mu    sync.Mutex // guards all
		end   = time.Now().Add(rs.window)
		g, gc = newGroup(ctx, -1)
	)
	one := func(raw *harness.RawClient, q query) {
		if rs.before != nil {
			m.pause(func() { rs.before(w, gc) })
		}
		start := time.Now()
		a := q.ask(gc, raw)
		wall := time.Since(start)
		mu.Lock()
		defer mu.Unlock()
		all.walls = append(all.walls, wall)
		all.requests += a.requests
		all.bytes, all.coding = a.bytes, codingOf(a.header)
	}
	for client := range clients {
		raw, q := t.connections[client], rs.query(w, t, client)
		g.run(func() {
			for n := 1; ; n++ {
				if one(raw, q); n == rs.most || !time.Now().Before(end) {
					return
				}
			}
		})
	}
	g.wait()
	return &all
}

// latencyScenarios returns the requests that a single client repeats, to measure their latency: consistent lists, for
// which Sluice proves that its state is current, and gets of the most recent version, which it passes. An update of
// another resource precedes each list because in a cluster the current resource version rises
// without the pods.
func latencyScenarios(o *options) []*scenario {
	var all []*scenario
	for _, churn := range o.churns {
		list := reads{most: max(1, o.lists/o.rounds), before: (*world).updateOther, query: func(_ *world, t *target, _ int) query {
			return query{path: t.path("/api/v1/pods"), header: http.Header{"Accept": {protobufType}, "Accept-Encoding": {"gzip"}}}
		}}
		get := reads{most: max(1, o.gets/o.rounds), query: func(w *world, t *target, _ int) query {
			return query{path: t.path(w.paths[0]), header: http.Header{"Accept": {jsonType}}}
		}}
		all = append(all, list.latency(o, "consistent list", "LIST", churn), get.latency(o, "get", "GET", churn))
	}
	return o.selected(all)
}

// latency makes a scenario of the reads. Before the first round it opens the connections, fills caches, and gives
// Sluice's response to the floor.
func (rs reads) latency(o *options, kind, verb string, churn int) *scenario {
	rs.window = responseLimit // the number of reads ends a round
	return &scenario{
		table: latencyTable, name: withChurn(kind, churn), verb: verb, load: load{churn, true}, clients: 1, rounds: o.rounds, op: rs.op,
		world: func(ctx context.Context, w *world, _ *row) []*target {
			for _, t := range []*target{w.apiserver, w.cached} {
				w.mirror(ctx, t, rs.query(w, t, 0))
			}
			rs.query(w, w.bare, 0).ask(ctx, w.bare.connection(0))
			return []*target{w.apiserver, w.cached, w.bare}
		},
		sum: func(_ *world, r *row, all samples) {
			for target, rounds := range all {
				r.By[target] = &figures{}
				r.By[target].timed(wallsOf(rounds))
			}
			r.Source = merged(all[sluiceName], servedFrom).reasons()
		},
	}
}

// path returns the path of a response at a target: the floor has only one.
func (t *target) path(path string) string {
	if t.name == floorName {
		return floorBodyPath
	}
	return path
}
