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

	// RollCall returns the keys and resource versions of a consistent LIST of the whole resource that
	// begins after the call.
	RollCall(ctx context.Context) (*RollCall, error)

	// ProbeWatch opens a second watch of the resource, from version. It calls event with the
	// resource version of each event and bookmark with the resource version of each bookmark, in
	// the order of the stream, and returns when the stream or the context ends.
	ProbeWatch(ctx context.Context, version uint64, event, bookmark func(version uint64)) error
}

// Fence is the consistent-read fence of one store. It answers one question: does the store show
// everything that the apiserver had committed when the question was asked?
//
//  1. [Fence.CurrentVersion] probes: a consistent LIST with limit=1 returns the apiserver's current
//     resource version X. Callers that arrive while a probe is running share the next one, so that
//     X is never older than the question. Of a small resource the whole is listed: see 4.
//  2. [Fence.WaitFor] waits for the store's own watch. A watch stream is ordered, so the store is
//     complete up to X once it has applied an event or a bookmark at or above X.
//  3. [Fence.Confirm] also has the apiserver confirm it, because on a quiet resource neither
//     arrives in time. Each kind of confirmation is a [Proof].
//  4. A [RollCall] is a list of all keys and resource versions. If they are those of the store, the
//     present state is the apiserver's at the version of the list ([Store.ConfirmState]).
//  5. A probe watch, a second watch of the resource, delivers bookmarks earlier than the store's own:
//     the apiserver has no event between its last one and the bookmark ([Store.ConfirmComplete]).
//
// What roll calls and delegated reads cost the apiserver is bounded by [Cost]; probe watches become
// rare while they bring no bookmark. docs/wire.md, section 12, explains why nothing weaker is a proof.
type Fence struct {
	store     *Store
	prober    Prober
	diverged  func(error)
	allowance *allowance
	probeDue  chan struct{} // holds one token while nextProbe has to be run
	proofDue  chan struct{} // holds one token after a caller of Confirm has arrived
	listing   sync.Mutex    // serializes roll calls

	mu          sync.Mutex // guards the fields below
	nextProbe   *probe
	waiters     int           // callers of Confirm that are waiting
	awaited     uint64        // the highest version that they wait for
	history     uint64        // the highest version up to which one of them needs the history
	idle        chan struct{} // closed when waiters becomes zero; nil while it is zero
	byWatch     uint64        // the highest version that a probe watch has confirmed
	probeWatch  probeWatchSchedule
	rollCall    rollCallRecord
	rising      bool // the last probe or roll call returned a version above the newest state's
	delegations int  // reads that are being delegated
	stats       FenceStats
}

// FenceStats describes the work of a fence for metrics.
type FenceStats struct {
	Probes, RollCalls, ProbeWatches, Delegated int
	Seconds                                    float64 // of the apiserver, for roll calls and delegated reads
}

// NewFence returns a fence of a store. Nothing is probed until Run is called. The fence calls
// diverged when a probe fails with [ErrDiverged] or the apiserver is at an older resource version
// than the store, as after a restore from a backup; the caller must then replace the store.
func NewFence(s *Store, p Prober, cost Cost, diverged func(error)) *Fence {
	return &Fence{
		store: s, prober: p, diverged: diverged, allowance: newAllowance(cost),
		probeDue: make(chan struct{}, 1), proofDue: make(chan struct{}, 1),
	}
}

// Stats returns the present figures.
func (f *Fence) Stats() FenceStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
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

// wake puts a token into the channel of a loop, unless it has one.
func wake(signal chan<- struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// WaitFor returns nil once the newest state of the store is at version or above. It returns ErrClosed
// when the store has ended, or the context's error.
func (f *Fence) WaitFor(ctx context.Context, version uint64) error {
	return f.waitUntil(ctx, func() bool { return f.store.Snapshot().Version >= version })
}

// waitUntil returns nil once a condition holds that only a change of the store can meet.
func (f *Fence) waitUntil(ctx context.Context, met func() bool) error {
	for {
		changed := f.store.Changed()
		if met() {
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

// WaitAt returns the state at exactly a version once the store knows it. It returns ErrGone if version
// is older than the history, ErrClosed when the store has ended, or the context's error.
func (f *Fence) WaitAt(ctx context.Context, version uint64) (state *Snapshot, err error) {
	ended := f.waitUntil(ctx, func() bool {
		state, err = f.store.At(version)
		return !errors.Is(err, ErrAhead)
	})
	if ended != nil {
		return nil, ended
	}
	return state, err
}

// Confirm is WaitFor that also has the apiserver confirm the state. It returns the proof that came
// first.
func (f *Fence) Confirm(ctx context.Context, version uint64) (Proof, error) {
	if f.store.Snapshot().Version < version {
		f.enter(version, 0)
		defer f.leave()
	}
	if err := f.WaitFor(ctx, version); err != nil {
		return 0, err
	}
	return f.ProofOf(version), nil
}

// ConfirmHistory is like Confirm and waits until the history of the store is complete up to version,
// so that a watch may send a bookmark.
func (f *Fence) ConfirmHistory(ctx context.Context, version uint64) error {
	if f.store.CompleteVersion() < version {
		f.enter(version, version)
		defer f.leave()
	}
	return f.waitUntil(ctx, func() bool { return f.store.CompleteVersion() >= version })
}

// retryInterval is the time between the attempts of WaitUntilCurrent.
const retryInterval = time.Second

// WaitUntilCurrent waits, even if the apiserver is unreachable at first, until the newest state is at
// a version that was current at some moment after the call, and returns that version and the proof.
// It returns ErrClosed when the store has ended, or the context's error.
func (f *Fence) WaitUntilCurrent(ctx context.Context) (version uint64, proof Proof, err error) {
	for {
		if version, err = f.CurrentVersion(ctx); err == nil {
			proof, err = f.Confirm(ctx, version)
		}
		if err == nil || errors.Is(err, ErrClosed) {
			return version, proof, err
		}
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-time.After(retryInterval):
		}
	}
}

// enter counts a caller that waits for a state at version, and for the history up to another.
func (f *Fence) enter(version, history uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters++
	f.awaited, f.history = max(f.awaited, version), max(f.history, history)
	if f.waiters == 1 {
		f.idle = make(chan struct{})
	}
	wake(f.proofDue)
}

func (f *Fence) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters--
	if f.waiters == 0 {
		close(f.idle)
		f.idle, f.awaited, f.history = nil, 0, 0
	}
}

// Delegate reports whether a small read may be forwarded to the apiserver instead of waiting for a
// proof: if it is alone, because several share one proof, and within the allowance. bytes is about the
// length of its response. If it may, done must be called when the read has ended.
func (f *Fence) Delegate(bytes int64) (done func(), ok bool) {
	if f.allowance.wait() > 0 {
		return nil, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiters > 0 || f.delegations > 0 {
		return nil, false
	}
	f.delegations++
	start := time.Now()
	return func() { f.delegated(time.Since(start), bytes) }, true
}

func (f *Fence) delegated(took time.Duration, bytes int64) {
	work := f.allowance.charge(took, bytes)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delegations--
	f.stats.Delegated++
	f.stats.Seconds += work
}
