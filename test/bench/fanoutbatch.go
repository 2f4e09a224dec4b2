package main

import (
	"context"
	"time"
)

const (
	// settle is a pause in which the servers finish opening hundreds of watches.
	settle = time.Second
	// deliverLimit bounds the time from the last update to its last event.
	deliverLimit = 3 * time.Minute
)

// fanOutBatch runs one round at one target: it opens the watches, updates pods and waits until
// every watch has received every event.
func (e *env) fanOutBatch(ctx context.Context, c fanOut, t *target, frame []byte) (*fanOutBatch, error) {
	if err := e.awaitClosed(ctx); err != nil {
		return nil, err
	}
	version, err := e.version(ctx)
	if err != nil {
		return nil, err
	}
	before, err := readSources(e.sluice, "watch")
	if err != nil {
		return nil, err
	}
	watchers, err := c.open(ctx, t, version, e.updates)
	if err != nil {
		return nil, err
	}
	w, err := e.deliver(ctx, t, watchers, frame)
	if closed := watchers.close(); err == nil {
		err = closed
	}
	if err == nil && t == e.sluiceTarget {
		w.sources, err = sourcesSince(ctx, e.sluice, "watch", before, c.watchers)
	}
	return w, err
}

// deliver updates pods and measures until all watches have received all events.
func (e *env) deliver(ctx context.Context, t *target, watchers *watchers, frame []byte) (*fanOutBatch, error) {
	if err := sleep(ctx, settle); err != nil {
		return nil, err
	}
	update := e.update
	if t == e.floorTarget {
		update = func(ctx context.Context) error {
			if err := e.update(ctx); err != nil { // as much work for the machine as with the other targets
				return err
			}
			return e.floor.send(ctx, frame)
		}
	}
	m, err := newMeter(e.background, e.targets...)
	if err != nil {
		return nil, err
	}
	acknowledged, err := e.pace(ctx, update)
	if err != nil {
		return nil, err
	}
	select {
	case <-watchers.all:
	case <-time.After(deliverLimit):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	used, err := m.read()
	if err != nil {
		return nil, err
	}
	if err := watchers.check(e.updates); err != nil {
		return nil, err
	}
	open, err := podWatches(ctx, e.controlPlane)
	return &fanOutBatch{
		cpu: used.cpu[t.name], plane: used.cpu[apiserverName], client: used.client, peak: used.peak[t.name],
		bytes: watchers.bytes(), delays: watchers.delays(acknowledged), watches: open - e.ownWatches,
	}, err
}
