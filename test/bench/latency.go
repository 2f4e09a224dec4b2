package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sluice/test/harness"
)

// latency runs a case against all targets in alternating rounds, one request at a time.
func (e *env) latency(ctx context.Context, c latencyCase) (*latencyLine, error) {
	progress("%s", c.name())
	for _, t := range e.targets {
		if t == e.floorTarget {
			continue
		}
		got, err := c.request(ctx, e, t) // opens the connection and fills caches
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		if err := e.floor.put(ctx, floorBodyPath, got); err != nil {
			return nil, err
		}
	}
	if _, err := c.request(ctx, e, e.floorTarget); err != nil {
		return nil, err
	}
	line := newLatencyLine(c)
	updates := startChurn(ctx, c.churn, e.update)
	err := e.latencyRounds(ctx, c, line)
	_, failed := updates.stop()
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	line.summarize()
	return line, nil
}

func (e *env) latencyRounds(ctx context.Context, c latencyCase, line *latencyLine) error {
	for round := range e.rounds {
		for i := range e.targets {
			t := e.targets[(i+round)%len(e.targets)]
			if err := e.latencyRound(ctx, c, t, line); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	return nil
}

// latencyRound sends one round's share of the requests to a target.
func (e *env) latencyRound(ctx context.Context, c latencyCase, t *target, line *latencyLine) error {
	before, err := readSources(e.sluice, c.verb)
	if err != nil {
		return err
	}
	n := max(1, c.requests/e.rounds)
	var walls []time.Duration
	for range n {
		if c.before != nil {
			if err := c.before(e, ctx); err != nil {
				return err
			}
		}
		start := time.Now()
		if _, err := c.request(ctx, e, t); err != nil {
			return err
		}
		walls = append(walls, time.Since(start))
	}
	var served tally
	if t == e.sluiceTarget {
		served, err = sourcesSince(ctx, e.sluice, c.verb, before, n)
	}
	line.add(t.name, walls, served)
	return err
}

func (c latencyCase) request(ctx context.Context, e *env, t *target) (*harness.Response, error) {
	raw, err := t.connection(0)
	if err != nil {
		return nil, err
	}
	path := c.path(e)
	if t == e.floorTarget {
		path = floorBodyPath
	}
	got, err := raw.Do(ctx, harness.Request{Path: path, Header: c.header})
	if err == nil && got.Status != http.StatusOK {
		err = fmt.Errorf("%d: %.200s", got.Status, got.Body)
	}
	return got, err
}
