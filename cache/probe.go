package cache

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// probeTimeout bounds one probe and one roll call.
const probeTimeout = 10 * time.Second

// probe is one consistent LIST, whole or of one object, and the callers that share its answer.
type probe struct {
	done    chan struct{} // closed when version and err are set
	version uint64
	err     error
}

// CurrentVersion returns the apiserver's current resource version at some moment after the call. It
// returns ErrClosed when the store has ended, an error wrapping ErrDiverged when the apiserver is
// behind the store, or the error of the probe.
func (f *Fence) CurrentVersion(ctx context.Context) (uint64, error) {
	p := f.joinNextProbe()
	select {
	case <-p.done:
		return p.version, p.err
	case <-f.store.Done():
		return 0, ErrClosed
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// joinNextProbe returns the probe that has not begun yet, so that its answer is not older than the
// call.
func (f *Fence) joinNextProbe() *probe {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nextProbe == nil {
		f.nextProbe = &probe{done: make(chan struct{})}
		wake(f.probeDue) // if Run has ended, CurrentVersion sees the store end
	}
	return f.nextProbe
}

// runProbe runs the next probe. Callers that arrive from now on get another.
func (f *Fence) runProbe(ctx context.Context) {
	f.mu.Lock()
	p := f.nextProbe
	f.nextProbe = nil
	f.mu.Unlock()
	before := f.store.Snapshot().Version
	p.version, p.err = f.ask(ctx)
	if p.err == nil && p.version < before {
		p.err = fmt.Errorf("apiserver is at version %d, store is at %d: %w", p.version, before, ErrDiverged)
	}
	f.mu.Lock()
	f.rising = p.version > before
	f.mu.Unlock()
	if errors.Is(p.err, ErrDiverged) {
		f.diverged(p.err)
	}
	close(p.done)
}

// ask returns the apiserver's current version, by a roll call where that costs about as little as a
// probe.
func (f *Fence) ask(ctx context.Context) (uint64, error) {
	if f.PrefersRollCall() || f.quiet() && f.callsRollUpTo(quietResource) {
		version, err := f.callRoll(ctx)
		if err == nil || errors.Is(err, ErrDiverged) || ctx.Err() != nil {
			return version, err
		}
	}
	f.mu.Lock()
	f.stats.Probes++
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return f.prober.Probe(ctx)
}

// failNextProbe answers the callers of a probe that Run will not run any more.
func (f *Fence) failNextProbe() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nextProbe != nil {
		f.nextProbe.err = ErrClosed
		close(f.nextProbe.done)
		f.nextProbe = nil
	}
}
