package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/test/harness"
)

// reads are queries that clients repeat, each client over a connection of its own.
type reads struct {
	// query returns what a client asks a target.
	query  func(w *world, t *target, client int) query
	window time.Duration // in which reads start; each client reads once at least
	most   int           // reads of a client; 0 means as many as the window has
	// before runs before each read of a single client, beside the clock and the meter; nil means nothing.
	before func(*world, context.Context) error
}

// op makes the reads the operation of a scenario.
func (rs reads) op(ctx context.Context, w *world, s *scenario, t *target) (_ *sample, err error) {
	defer fails(&err)
	must(t.connection(s.clients - 1)) // goroutines may share only connections that exist
	before := must(w.count(t, s.verb))
	m := must(newMeter(w.background, w.targets()...))
	updates := startChurn(ctx, s.load.rate, w.updating(s.load.pods))
	got, err := rs.repeat(ctx, w, t, s.clients, m)
	n, failed := updates.stop()
	check(errors.Join(err, failed))
	got.usage = must(m.read())
	got.wall = time.Since(m.began)
	got.plane = max(0, got.cpu[apiserverName]-time.Duration(n)*w.updateCost[s.load.pods])
	got.counted, err = w.countSince(ctx, t, s.verb, before, got.requests)
	return got, err
}

// repeat has every client read until the window ends.
func (rs reads) repeat(ctx context.Context, w *world, t *target, clients int, m *meter) (*sample, error) {
	var (
		all   sample
		mu    sync.Mutex // guards all
		end   = time.Now().Add(rs.window)
		g, gc = errgroup.WithContext(ctx)
	)
	one := func(raw *harness.RawClient, q query) error {
		if rs.before != nil {
			if err := m.pause(func() error { return rs.before(w, gc) }); err != nil {
				return err
			}
		}
		start := time.Now()
		a, err := q.ask(gc, raw)
		if err != nil {
			return err
		}
		wall := time.Since(start)
		mu.Lock()
		defer mu.Unlock()
		all.walls = append(all.walls, wall)
		all.requests += a.requests
		all.bytes, all.coding = a.bytes, codingOf(a.header)
		return nil
	}
	for client := range clients {
		raw, q := t.connections[client], rs.query(w, t, client)
		g.Go(func() error {
			for n := 1; ; n++ {
				if err := one(raw, q); err != nil {
					return err
				}
				if n == rs.most || !time.Now().Before(end) {
					return nil
				}
			}
		})
	}
	err := g.Wait()
	return &all, err
}
