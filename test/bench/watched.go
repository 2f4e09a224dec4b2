package main

import (
	"context"
	"time"
)

const (
	// settle is a pause for what opening hundreds of watches leaves to do.
	settle = time.Second
	// deliverLimit is how long events may take to arrive after the last update.
	deliverLimit = 30 * time.Second
)

// watched opens the watches of one round at a target, does the updates and waits until each watch was
// sent each of them.
func (b *bed) watched(ctx context.Context, c fanOut, t *target, frame []byte) (*watched, error) {
	version, err := b.version(ctx)
	if err != nil {
		return nil, err
	}
	before, err := b.answers("watch")
	if err != nil {
		return nil, err
	}
	crowd, err := c.open(ctx, t, version, b.updates)
	if err != nil {
		return nil, err
	}
	w, err := b.deliver(ctx, t, crowd, frame)
	if closed := crowd.close(); err == nil {
		err = closed
	}
	if err == nil && t == b.gateway {
		w.how, err = b.answered(ctx, "watch", before, c.watchers)
	}
	return w, err
}

// deliver does the updates and measures until all have arrived.
func (b *bed) deliver(ctx context.Context, t *target, crowd *crowd, frame []byte) (*watched, error) {
	if err := sleep(ctx, settle); err != nil {
		return nil, err
	}
	update := b.update
	if t == b.ground {
		update = func(ctx context.Context) error { return b.floor.send(ctx, frame) }
	}
	m, err := b.meter()
	if err != nil {
		return nil, err
	}
	acknowledged, err := b.pace(ctx, update)
	if err != nil {
		return nil, err
	}
	select {
	case <-crowd.all:
	case <-time.After(deliverLimit):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	used, err := m.read()
	if err != nil {
		return nil, err
	}
	if err := crowd.check(b.updates); err != nil {
		return nil, err
	}
	open, err := podWatches(ctx, b.plane)
	return &watched{
		cpu: used.cpu[t.name], plane: used.cpu[apiserverName], peak: used.peak[t.name],
		delays: crowd.delays(acknowledged), watches: open - b.ownWatches,
	}, err
}
