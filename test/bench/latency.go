package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sluice/test/harness"
)

// latency runs a case against all targets in alternating rounds, one request after the other.
func (b *bed) latency(ctx context.Context, c latencyCase) (*latencyLine, error) {
	progress("%s", c.name())
	for _, t := range b.targets {
		if t == b.ground {
			continue
		}
		got, err := c.ask(ctx, b, t) // connects, and warms up
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		if err := b.floor.put(ctx, floorBodyPath, got); err != nil {
			return nil, err
		}
	}
	if _, err := c.ask(ctx, b, b.ground); err != nil {
		return nil, err
	}
	line := newLatencyLine(c)
	updates := b.churn(ctx, c.churn)
	err := b.latencyRounds(ctx, c, line)
	_, failed := updates.stop()
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	line.sum()
	return line, nil
}

func (b *bed) latencyRounds(ctx context.Context, c latencyCase, line *latencyLine) error {
	for round := range b.rounds {
		for i := range b.targets {
			t := b.targets[(i+round)%len(b.targets)]
			if err := b.latencyRound(ctx, c, t, line); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	return nil
}

// latencyRound does a round's share of the requests.
func (b *bed) latencyRound(ctx context.Context, c latencyCase, t *target, line *latencyLine) error {
	before, err := b.answers(c.verb)
	if err != nil {
		return err
	}
	n := max(1, c.requests/b.rounds)
	var walls []time.Duration
	for range n {
		if c.before != nil {
			if err := c.before(b, ctx); err != nil {
				return err
			}
		}
		start := time.Now()
		if _, err := c.ask(ctx, b, t); err != nil {
			return err
		}
		walls = append(walls, time.Since(start))
	}
	var how answers
	if t == b.gateway {
		how, err = b.answered(ctx, c.verb, before, n)
	}
	line.add(t.name, walls, how)
	return err
}

func (c latencyCase) ask(ctx context.Context, b *bed, t *target) (*harness.Response, error) {
	raw, err := t.connection(0)
	if err != nil {
		return nil, err
	}
	path := c.path(b)
	if t == b.ground {
		path = floorBodyPath
	}
	got, err := raw.Do(ctx, harness.Request{Path: path, Header: c.header})
	if err == nil && got.Status != http.StatusOK {
		err = fmt.Errorf("%d: %.200s", got.Status, got.Body)
	}
	return got, err
}
