package cache

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Prober asks the apiserver about the progress of one resource.
type Prober interface {
	// Probe returns the resource version of a consistent LIST that begins after the call.
	Probe(ctx context.Context) (version uint64, err error)

	// ProbeWatch opens a second watch of the resource, from version. It calls event with the
	// resource version of each event and bookmark with the resource version of each bookmark, in
	// the order of the stream, and returns when the stream or the context ends.
	ProbeWatch(ctx context.Context, version uint64, event, bookmark func(version uint64)) error
}

// Fence is the consistent-read fence of one store. It answers one question: has the store applied
// everything that the apiserver had committed when the question was asked?
//
//  1. [Fence.CurrentVersion] probes: a consistent LIST with limit=1 returns the apiserver's current
//     resource version X. Callers that arrive while a probe is running share the next one, so that
//     X is never older than the question.
//  2. [Fence.WaitFor] waits for the store's own watch. A watch stream is ordered, so the store is
//     complete up to X once it has applied an event or a bookmark at or above X.
//  3. [Fence.Confirm] also has the apiserver confirm it, because on a quiet resource neither
//     arrives in time. Each kind of confirmation is a [Proof].
//
// A proof states that the apiserver has no event of the resource in (last, B]. It takes effect
// through [Store.ConfirmComplete] and only once the store has applied everything up to last.
// docs/wire.md, section 12, explains why nothing weaker is a proof.
type Fence struct {
	store    *Store
	prober   Prober
	diverged func(error)
	probeDue chan struct{} // holds one token while nextProbe has to be run
	proofDue chan struct{} // holds one token after the first caller of Confirm has arrived

	mu        sync.Mutex // guards the fields below
	nextProbe *probe
	waiters   int                // callers of Confirm that are waiting
	idle      chan struct{}      // closed when waiters becomes zero; nil while it is zero
	confirmed [proofCount]uint64 // highest version that each proof has confirmed
}

// NewFence returns a fence of a store. Nothing is probed until Run is called. The fence calls
// diverged when a probe fails with [ErrDiverged] or the apiserver is at an older resource version
// than the store, as after a restore from a backup; the caller must then replace the store.
func NewFence(s *Store, p Prober, diverged func(error)) *Fence {
	return &Fence{
		store: s, prober: p, diverged: diverged,
		probeDue: make(chan struct{}, 1), proofDue: make(chan struct{}, 1),
	}
}

// Run probes and confirms on behalf of the callers until the context or the store ends.
func (f *Fence) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var loops sync.WaitGroup
	loops.Go(func() { onSignal(ctx, f.probeDue, f.runProbe) })
	loops.Go(func() { onSignal(ctx, f.proofDue, f.prove) })
	select {
	case <-ctx.Done():
	case <-f.store.Done():
	}
	cancel()
	loops.Wait()
	f.failNextProbe()
}

// onSignal calls do for each token in the channel until the context ends.
func onSignal(ctx context.Context, signal <-chan struct{}, do func(context.Context)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signal:
			do(ctx)
		}
	}
}

// WaitFor returns nil once the store is complete up to version. It returns ErrClosed when the store
// has ended, or the context's error.
func (f *Fence) WaitFor(ctx context.Context, version uint64) error {
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

// Confirm is WaitFor that also has the apiserver confirm that the store is complete. It returns the
// proof that came first.
func (f *Fence) Confirm(ctx context.Context, version uint64) (Proof, error) {
	if f.store.Snapshot().Version < version {
		f.enter()
		defer f.leave()
	}
	if err := f.WaitFor(ctx, version); err != nil {
		return 0, err
	}
	return f.proofOf(version), nil
}

// retryInterval is the time between the attempts of WaitUntilCurrent.
const retryInterval = time.Second

// WaitUntilCurrent waits, however long the apiserver is unreachable, until the store is complete up
// to a version that was current at some moment after the call, and returns that version. It returns
// ErrClosed when the store has ended, or the context's error.
func (f *Fence) WaitUntilCurrent(ctx context.Context) (version uint64, err error) {
	for {
		if version, err = f.CurrentVersion(ctx); err == nil {
			_, err = f.Confirm(ctx, version)
		}
		if err == nil || errors.Is(err, ErrClosed) {
			return version, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(retryInterval):
		}
	}
}

func (f *Fence) enter() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters++
	if f.waiters == 1 {
		f.idle = make(chan struct{})
		select {
		case f.proofDue <- struct{}{}:
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
