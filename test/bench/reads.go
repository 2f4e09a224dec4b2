package main

import (
	"context"
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
		all.bytes, all.coding = all.bytes+a.bytes, a.coding
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
