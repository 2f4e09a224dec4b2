package fence

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
)

const (
	// probeTimeout bounds one probe: callers that share the next one must not wait much longer.
	probeTimeout = 4 * time.Second
	// failurePause is the least time between a request that has failed and the next one.
	failurePause = 200 * time.Millisecond
	// stallRetry is the longest time between two attempts to end a stall.
	stallRetry = 30 * time.Second
	// inventoryTimeout bounds an inventory.
	inventoryTimeout = 10 * time.Second
)

// probes tell the apiserver's current version.
type probes struct {
	*base
	*inventories

	// mu guards these.
	nextProbe *probe
	probedAt  time.Time // when the last probe ended
	refused   refusal   // of the last probe
}

// currentVersion returns the apiserver's current resource version at some moment after the call. It
// returns ErrClosed when the store has ended, an error wrapping ErrDiverged when the apiserver is
// behind the store, or the error of the probe: of the last one until the apiserver may be asked again.
func (f *probes) currentVersion(ctx context.Context) (uint64, error) {
	if refused := f.lastRefusal(); time.Now().Before(refused.until) {
		return 0, refused.err
	}
	p := f.joinNextProbe()
	select {
	case <-p.done:
		return p.version, p.err
	case <-f.store.Done():
		return 0, cache.ErrClosed
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// versionFor returns the version that the state must reach.
func (f *probes) versionFor(ctx context.Context, n Need) (version uint64, _ error) {
	for version = n.Current; version == 0; {
		current, err := f.currentVersion(ctx)
		switch {
		case err == nil:
			version = current
		case !n.Patient || errors.Is(err, cache.ErrClosed) || ctx.Err() != nil:
			return 0, err
		default:
			pause(ctx, max(time.Until(f.lastRefusal().until), failurePause))
		}
	}
	switch {
	case n.Version > version:
		return 0, cache.ErrAhead
	case n.Version > 0:
		return n.Version, nil
	}
	return version, nil
}

// joinNextProbe returns the probe that has not begun yet, so that its answer is not older than the
// call.
func (f *probes) joinNextProbe() *probe {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nextProbe == nil {
		f.nextProbe = &probe{done: make(chan struct{})}
		f.worker.want(asking)
	}
	return f.nextProbe
}

// runProbe runs the next probe. Callers that arrive from now on get another. While the allowance is
// overdrawn, more callers share a probe.
func (f *probes) runProbe(ctx context.Context) {
	f.mu.Lock()
	free := time.Until(f.probedAt.Add(probePause))
	f.mu.Unlock()
	pause(ctx, min(f.allowance.wait(), free))
	f.mu.Lock()
	p := f.nextProbe
	f.nextProbe = nil
	f.mu.Unlock()
	before := f.store.Snapshot().Version
	p.version, p.err = f.ask(ctx)
	if p.err == nil && p.version < before {
		p.err = cache.Behind(p.version, before)
	}
	f.mu.Lock()
	f.rising, f.risingAt = p.version > before, time.Now()
	if p.err != nil {
		f.refused = refusal{p.err, time.Now().Add(retryDelay(p.err))}
	}
	f.mu.Unlock()
	f.report(p.err)
	close(p.done)
}

// ask returns the apiserver's current version, by an inventory where that costs about as little as a
// probe. An inventory that takes long gives way to a probe, and may still confirm the state.
func (f *probes) ask(ctx context.Context) (uint64, error) {
	_, lists := f.worker.runs(listing)
	if f.decide(Question{After: Asked, Running: lists}).Do == TakeInventory && f.worker.claim(listing) {
		answer := make(chan probe, 1)
		f.worker.begun.Go(func() {
			version, err := f.takeInventory(ctx, inventoryTimeout)
			answer <- probe{version: version, err: err}
		})
		late := time.NewTimer(quickInventory)
		defer late.Stop()
		select {
		case p := <-answer:
			if p.err == nil || errors.Is(p.err, cache.ErrDiverged) || ctx.Err() != nil {
				return p.version, p.err
			}
		case <-late.C:
		}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	start := time.Now()
	version, err := f.apiserver.Probe(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probedAt = time.Now()
	f.charge(min(time.Since(start), requestWork), 0, false)
	return version, err
}

// lastRefusal returns the refusal of the last probe that has failed.
func (f *probes) lastRefusal() refusal {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}

// retryDelay returns how long no request is made after one that has failed.
func retryDelay(err error) time.Duration {
	delay := failurePause
	if later, ok := errors.AsType[*cache.RetryAfterError](err); ok {
		delay = max(delay, min(later.After, stallRetry))
	}
	return delay
}
