package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Upstream answers a fence's questions about one resource.
type Upstream interface {
	// Probe returns the version of the most recent state, by a consistent
	// read that begins after the call.
	Probe(ctx context.Context) (version uint64, err error)

	// ProbeWatch opens a second watch of the resource behind version and calls
	// event with the version of each event and bookmark with that of each
	// bookmark, in the order of the stream, until the stream or the context
	// ends.
	ProbeWatch(ctx context.Context, version uint64, event, bookmark func(version uint64)) error
}

const (
	// probeLimit bounds one probe.
	probeLimit = 10 * time.Second
	// chaseEvery is the time between the starts of chasers while somebody
	// waits: an apiserver sends bookmarks at moments of its own, and every
	// chaser adds some (wire.md 12).
	chaseEvery = 350 * time.Millisecond
)

// Fence proves that a store has reached the upstream's present. Being in order,
// the store's own stream proves a version by an event or bookmark at or above
// it. Where none comes, a chaser does: a second watch from the store's version
// whose bookmark follows every event up to it, so that a store which has
// applied the last of these events has all of them. Nothing weaker counts.
//
// Questions that arrive while a probe is under way share the next one: an
// answer never is from before the question.
type Fence struct {
	store    *Store
	upstream Upstream
	broken   func(error)
	probes   chan struct{} // holds one token when next waits to be run
	chases   chan struct{} // holds one token when the first waiter has come

	mu      sync.Mutex // guards all below
	next    *round
	waiters int
	idle    chan struct{} // closed when the last waiter has gone
	proven  uint64        // highest version that a chaser proved
}

// round is one probe and those who wait for it.
type round struct {
	done    chan struct{} // closed when version and err are set
	version uint64
	err     error
}

// NewFence returns a fence for a store. It answers while Run runs. Broken is
// called if the upstream turns out to be at an older version than the store,
// as after a restore from a backup: the store must then be given up.
func NewFence(s *Store, u Upstream, broken func(error)) *Fence {
	return &Fence{store: s, upstream: u, broken: broken, probes: make(chan struct{}, 1), chases: make(chan struct{}, 1)}
}

// Run works for those who ask until the context or the store ends.
func (f *Fence) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var loops sync.WaitGroup
	loops.Go(func() { f.each(ctx, f.probes, f.probe) })
	loops.Go(func() { f.each(ctx, f.chases, f.chase) })
	select {
	case <-ctx.Done():
	case <-f.store.Done():
	}
	cancel()
	loops.Wait()
	f.abandon()
}

func (f *Fence) each(ctx context.Context, work <-chan struct{}, do func(context.Context)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-work:
			do(ctx)
		}
	}
}

// CurrentVersion returns the version of the upstream's present: of some moment after
// the call. It returns ErrClosed when the store has ended.
func (f *Fence) CurrentVersion(ctx context.Context) (uint64, error) {
	f.mu.Lock()
	if f.next == nil {
		f.next = &round{done: make(chan struct{})}
		select {
		case f.probes <- struct{}{}:
		default: // Run has ended or will see next
		}
	}
	r := f.next
	f.mu.Unlock()
	select {
	case <-r.done:
		return r.version, r.err
	case <-f.store.Done():
		return 0, ErrClosed
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// probe runs the round that waits. Who comes from now on gets another.
func (f *Fence) probe(ctx context.Context) {
	f.mu.Lock()
	r := f.next
	f.next = nil
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	before := f.store.Snapshot().Version
	r.version, r.err = f.upstream.Probe(ctx)
	if r.err == nil && r.version < before {
		r.err = fmt.Errorf("upstream is at version %d after %d: %w", r.version, before, ErrDiverged)
	}
	if errors.Is(r.err, ErrDiverged) {
		f.broken(r.err)
	}
	close(r.done)
}

// abandon answers those whose round nobody will run any more.
func (f *Fence) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next != nil {
		f.next.err = ErrClosed
		close(f.next.done)
		f.next = nil
	}
}

// WaitFor returns nil once the store is complete up to version. With chase set it
// makes the upstream prove it. It returns ErrClosed when the store has ended,
// or the context's error.
func (f *Fence) WaitFor(ctx context.Context, version uint64, chase bool) error {
	if chase && f.store.Snapshot().Version < version {
		f.enter()
		defer f.leave()
	}
	for {
		changed := f.store.Changed()
		if f.store.Snapshot().Version >= version {
			return nil
		}
		select {
		case <-changed:
		case <-f.store.Done():
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ByProbeWatch reports whether it was a chaser that proved the version.
func (f *Fence) ByProbeWatch(version uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.proven >= version
}

func (f *Fence) enter() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters++
	if f.waiters == 1 {
		f.idle = make(chan struct{})
		select {
		case f.chases <- struct{}{}:
		default:
		}
	}
}

func (f *Fence) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters--
	if f.waiters == 0 {
		close(f.idle)
		f.idle = nil
	}
}

// chase starts one chaser after the other until nobody waits.
func (f *Fence) chase(ctx context.Context) {
	f.mu.Lock()
	idle := f.idle
	f.mu.Unlock()
	if idle == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var chasers sync.WaitGroup
	defer chasers.Wait()
	defer cancel()
	t := time.NewTicker(chaseEvery)
	defer t.Stop()
	for {
		chasers.Go(func() { f.chaser(ctx) })
		select {
		case <-ctx.Done():
			return
		case <-idle:
			return
		case <-t.C:
		}
	}
}

// chaser runs one chaser. An error is as good as none: others follow.
func (f *Fence) chaser(ctx context.Context) {
	last := f.store.Snapshot().Version
	_ = f.upstream.ProbeWatch(ctx, last,
		func(version uint64) { last = version },
		func(version uint64) {
			if f.WaitFor(ctx, last, false) == nil && f.store.ConfirmComplete(last, version) {
				f.prove(version)
			}
		})
}

func (f *Fence) prove(version uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proven = max(f.proven, version)
}
