package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// proofBatch is the measurement of one target in one round.
type proofBatch struct {
	walls    []time.Duration // of each read; a read of pages is several requests
	requests int
	upstream time.Duration // CPU of the control plane without updates
	own      time.Duration // CPU of all Sluices
	wall     time.Duration // of the batch
	sources  tally
	proofs   tally
	cost     proofCost // of the proofs of the Sluice that reads from the apiserver
}

// proofBatch runs a case against one target for a window. The first batch opens the connections and
// fills caches before.
func (e *env) proofBatch(ctx context.Context, c proofCase, t *target, first bool) (*proofBatch, error) {
	if first {
		if err := t.connect(ctx, c.readers); err != nil {
			return nil, err
		}
		if _, err := e.read(ctx, c, t, 0); err != nil {
			return nil, err
		}
	}
	if t.sluice == nil {
		return e.measureReads(ctx, c, t)
	}
	sources, err := readSources(t.sluice, c.verb())
	if err != nil {
		return nil, err
	}
	proofs, err := readProofs(t.sluice)
	if err != nil {
		return nil, err
	}
	cost, err := readProofCost(e.sluice)
	if err != nil {
		return nil, err
	}
	b, err := e.measureReads(ctx, c, t)
	if err != nil {
		return nil, err
	}
	spent, err := readProofCost(e.sluice)
	if err != nil {
		return nil, err
	}
	b.cost = spent.since(cost)
	if b.sources, err = sourcesSince(ctx, t.sluice, c.verb(), sources, b.requests); err != nil {
		return nil, err
	}
	after, err := readProofs(t.sluice)
	b.proofs = after.since(proofs)
	return b, err
}

// measureReads reads for a window during the case's updates, and subtracts the CPU of these.
func (e *env) measureReads(ctx context.Context, c proofCase, t *target) (*proofBatch, error) {
	m, err := newMeter(e.background, e.apiserver, e.sluiceTarget, e.twoTiers)
	if err != nil {
		return nil, err
	}
	rate := quietRate
	if c.busy {
		rate = busyRate
	}
	updates := startChurn(ctx, rate, e.updateOf(c.busy))
	b, err := e.readRepeatedly(ctx, c, t, e.window)
	n, failed := updates.stop()
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	used, err := m.read()
	if err != nil {
		return nil, err
	}
	b.wall = time.Since(m.start)
	b.upstream = max(0, used.cpu[apiserverName]-time.Duration(n)*e.proofUpdateCost[c.busy])
	if t != e.apiserver {
		b.own = used.cpu[sluiceName] + used.cpu[twoTiersName]
	}
	return b, nil
}

// readRepeatedly has every reader read repeatedly, at least once, until the window ends.
func (e *env) readRepeatedly(ctx context.Context, c proofCase, t *target, window time.Duration) (*proofBatch, error) {
	var requests atomic.Int64
	walls, err := repeat(ctx, c.readers, window, func(ctx context.Context, reader int) error {
		n, err := e.read(ctx, c, t, reader)
		requests.Add(int64(n))
		return err
	})
	return &proofBatch{walls: walls, requests: int(requests.Load())}, err
}
