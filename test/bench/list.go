package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/test/harness"
)

// list runs a case against all targets in alternating rounds.
func (b *bed) list(ctx context.Context, c listCase) (*listLine, error) {
	progress("%s", c.name())
	if err := b.prepare(ctx, c); err != nil {
		return nil, err
	}
	line := newListLine(c, b)
	for round := range b.rounds {
		for i := range b.targets {
			t := b.targets[(i+round)%len(b.targets)]
			got, err := b.batch(ctx, c, t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			line.add(t.name, got)
		}
	}
	line.sum()
	return line, b.profile(ctx, c.name(), func(ctx context.Context) error {
		_, err := c.run(ctx, b.gateway, profileTime)
		return err
	})
}

// prepare connects all clients, warms up, and gives the floor the body that the apiserver answers with.
func (b *bed) prepare(ctx context.Context, c listCase) error {
	raw, err := b.apiserver.connection(0)
	if err != nil {
		return err
	}
	got, err := raw.Do(ctx, harness.Request{Path: c.path(b.apiserver), Header: c.header()})
	if err != nil {
		return err
	}
	if got.Status != http.StatusOK {
		return fmt.Errorf("apiserver answers %d: %.200s", got.Status, got.Body)
	}
	if err := b.floor.put(ctx, c.path(b.ground), got); err != nil {
		return err
	}
	for _, t := range b.targets {
		if err := c.connect(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if _, _, err := c.get(ctx, b.gateway, 0); err != nil || c.churn == 0 {
		return err
	}
	return b.priceUpdates(ctx)
}

// connect makes each client's connection, with a request that costs nothing.
func (c listCase) connect(ctx context.Context, t *target) error {
	for i := range c.clients {
		raw, err := t.connection(i)
		if err != nil {
			return err
		}
		if _, err := raw.Get(ctx, "/version", "*/*"); err != nil {
			return err
		}
	}
	return nil
}

// batch runs the case against one target for a window.
func (b *bed) batch(ctx context.Context, c listCase, t *target) (*batch, error) {
	before, err := b.answers("list")
	if err != nil {
		return nil, err
	}
	m, err := b.meter()
	if err != nil {
		return nil, err
	}
	r, err := b.runWithChurn(ctx, c, t)
	if err != nil {
		return nil, err
	}
	used, err := m.read()
	if err != nil {
		return nil, err
	}
	after, err := b.answers("list")
	if err != nil {
		return nil, err
	}
	r.how = after.since(before)
	plane := max(0, used.cpu[apiserverName]-time.Duration(r.updates)*b.updateCost)
	r.cpu, r.peak = used.cpu[t.name], used.peak[t.name]
	switch {
	case t == b.apiserver:
		r.cpu = plane
	case t == b.gateway && r.how.passed():
		r.cpu += plane
	}
	return r, nil
}

// runWithChurn runs the case for a window while the updates go on that belong to it.
func (b *bed) runWithChurn(ctx context.Context, c listCase, t *target) (*batch, error) {
	updates := b.churn(ctx, c.churn)
	r, err := c.run(ctx, t, b.window)
	n, failed := updates.stop()
	r.updates = n
	return r, errors.Join(err, failed)
}

// run lets all clients list again and again until the window is over; each does once at least.
func (c listCase) run(ctx context.Context, t *target, window time.Duration) (*batch, error) {
	var (
		r     batch
		mu    sync.Mutex // guards r
		end   = time.Now().Add(window)
		g, gc = errgroup.WithContext(ctx)
	)
	for i := range c.clients {
		g.Go(func() error {
			for {
				wall, n, err := c.get(gc, t, i)
				if err != nil {
					return err
				}
				mu.Lock()
				r.walls = append(r.walls, wall)
				r.bytes = n
				mu.Unlock()
				if !time.Now().Before(end) {
					return nil
				}
			}
		})
	}
	return &r, g.Wait()
}

// get lists once and returns how long that took and how long the body was.
func (c listCase) get(ctx context.Context, t *target, client int) (time.Duration, int64, error) {
	raw, err := t.connection(client)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	resp, err := raw.Open(ctx, harness.Request{Path: c.path(t), Header: c.header()})
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, 0, errors.New(resp.Status)
	}
	n, err := drain(resp.Body)
	return time.Since(start), n, err
}

// drain reads to the end in larger pieces than io.Discard does.
func drain(r io.Reader) (int64, error) {
	buf := make([]byte, 64<<10)
	var n int64
	for {
		k, err := r.Read(buf)
		n += int64(k)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
