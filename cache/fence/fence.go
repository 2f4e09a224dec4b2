package fence

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice/cache"
)

// Fence is the consistent-read fence of one store. It answers one question: does the store show
// everything that the apiserver had committed when the question was asked? [Fence.Prove] is the way in.
//
//  1. A probe, a consistent LIST of one key, returns the apiserver's current resource version X. Callers that
//     arrive while a probe is running share the next one, so that X is never older than the question. Of a small
//     resource the whole is listed: see 4.
//  2. The store's own watch proves a state: its stream is ordered, so the store is complete up to X once it has
//     applied an event or a bookmark at or above X.
//  3. On a quiet resource neither arrives in time, so the apiserver is asked to confirm the state, by 4 or 5. Each
//     kind of confirmation is a [Proof].
//  4. An [cache.Inventory] is a list of all keys and resource versions. If the store has the same, the
//     present state is the apiserver's at the version of the list ([cache.Store.ConfirmState]). It may list
//     an older state for the readers of exactly that ([Exactly]).
//  5. A second watch of the resource delivers bookmarks earlier than the store's own:
//     the apiserver has no event between its last one and the bookmark ([cache.Store.ConfirmComplete]).
//
// While the watch of the store is away, only an inventory proves a state, and the others wait ([cache.Writer.Doubt]).
//
// The apiserver pays for proofs besides reads. That cost is bounded by [Cost]; second watches become rare while they bring no bookmark. Readers whose proof does not come share
// one inventory, however large the resource is, or the list that replaces the store (Need.AtAnyPrice).
// docs/wire.md, section 12, explains why nothing weaker is a proof.
type Fence struct {
	*base
	*inventories
	*probes
	*proofs
	*recovery

	// mu guards these.
	reads    int           // that are under way
	underWay time.Duration // their cost, if the apiserver answered them
}

// base is the common state of the parts of a fence.
type base struct {
	store          *cache.Store
	apiserver      Apiserver
	diverged       func(error)
	allowance      *allowance
	worker         worker
	decide         func(Question) Action // decides the action for a question now
	waitersChanged chan struct{}         // holds one token after reads have begun or ceased to wait, or an inventory has ended

	mu       sync.Mutex // guards the fields below, and those of the parts
	rising   bool       // the last probe or inventory returned a version above the newest state's
	risingAt time.Time  // when that was found out
	missedAt time.Time  // when a read has waited for the store's own watch in vain
	stats    Stats
}

// Stats describes the work of a fence for metrics.
type Stats struct {
	Forwarded int
	Seconds   float64 // of the apiserver, charged to the allowance
	Uncharged float64 // and beyond it, instead of reads that would have cost more
}

// New returns a fence of a store. Nothing is probed until Run is called. The fence calls
// diverged when a probe fails with [cache.ErrDiverged] or the apiserver is at an older resource version
// than the store, as after a restore from a backup, and with [cache.ErrHeldBack]; the caller must then replace
// the store. The result of cost may change at any time.
func New(s *cache.Store, a Apiserver, cost func() Cost, diverged func(error)) *Fence {
	b := &base{store: s, apiserver: a, diverged: diverged, allowance: newAllowance(cost), waitersChanged: make(chan struct{}, 1)}
	i := &inventories{base: b}
	p, c := &probes{base: b, inventories: i}, &proofs{base: b, inventories: i}
	f := &Fence{
		base: b, inventories: i, probes: p, proofs: c,
		recovery: &recovery{base: b, inventories: i, probes: p, proofs: c},
	}
	b.decide = func(q Question) Action { return Next(q, f.Facts()) }
	return f
}

// report reports an error that means that the store must be replaced, unless it has been.
func (f *base) report(err error) {
	if !errors.Is(err, cache.ErrDiverged) && !errors.Is(err, cache.ErrHeldBack) {
		return
	}
	select {
	case <-f.store.Done():
	default:
		f.diverged(err)
	}
}

// wakeProving has the proving look again, because reads have begun or ceased to wait, or an inventory has ended.
func (f *base) wakeProving() {
	select {
	case f.waitersChanged <- struct{}{}:
	default:
	}
}

// Stats returns the present figures.
func (f *Fence) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// waitFor returns nil once the store proves a version. It returns ErrClosed when the store has ended, or
// the context's error.
func (f *base) waitFor(ctx context.Context, version uint64) error {
	return f.waitUntil(ctx, func() bool { return f.store.Proves(version) })
}

// waitUntil returns nil once a condition holds that only a change of the store can meet.
func (f *base) waitUntil(ctx context.Context, met func() bool) error {
	for {
		changed := f.store.Changed()
		if met() {
			return nil
		}
		select {
		case <-changed:
		case <-f.store.Done():
			return cache.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waitBriefly is waitFor that takes limit for a sign that an event or bookmark will not come soon either.
func (f *base) waitBriefly(ctx context.Context, version uint64, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := f.waitFor(ctx, version)
	if errors.Is(err, context.DeadlineExceeded) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.missedAt = time.Now()
	}
	return err == nil
}

// waitAt returns the state at exactly a version once the store knows it. It returns ErrGone if version
// is older than the history, ErrClosed when the store has ended, or the context's error.
func (f *base) waitAt(ctx context.Context, version uint64) (state *cache.Snapshot, err error) {
	ended := f.waitUntil(ctx, func() bool {
		state, err = f.store.At(version)
		return !errors.Is(err, cache.ErrAhead)
	})
	if ended != nil {
		return nil, ended
	}
	return state, err
}

// charge charges the cost of a request, or counts it as uncharged. The caller must hold mu.
func (f *base) charge(work time.Duration, bytes int64, uncharged bool) {
	if uncharged {
		f.stats.Uncharged += work.Seconds()
		return
	}
	f.allowance.charge(work, bytes)
	f.stats.Seconds += work.Seconds()
}

// probe is one consistent LIST, whole or of one key, and the callers that share its answer.
type probe struct {
	done    chan struct{} // closed when version and err are set
	version uint64
	err     error
}

// refusal is the error of a request of which others like it need not be made for a while.
type refusal struct {
	err   error
	until time.Time
}

// secondWatchSchedule is when the next second watch may start.
type secondWatchSchedule struct {
	next   time.Time
	barren int // second watches in a row
}

// inventoryRecord has the figures of the last inventory.
type inventoryRecord struct {
	perObject int64     // length of the response for each object; zero before the first one
	at        time.Time // when it ended
	retryAt   time.Time // after a failure
	pending   uint64    // its version, if the store differed
}

// exactInventory is the inventory of exactly a version that the store has not reached.
type exactInventory struct {
	version uint64 // 0 before the first one
	runs    bool
	began   time.Time
	ended   chan struct{}
	retryAt time.Time // after a failure
}

// pause waits for a time, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Apiserver asks the apiserver about the progress of one resource.
type Apiserver interface {
	// Probe returns the resource version of a consistent LIST that begins after the call.
	Probe(ctx context.Context) (version uint64, err error)

	// Inventory returns the keys and resource versions of a LIST of a scope: of the state at exactly a
	// version, or with version 0 of a consistent LIST that begins after the call. With an error it may return the
	// part that has been read.
	Inventory(ctx context.Context, scope cache.Scope, version uint64) (*cache.Inventory, error)

	// SecondWatch opens a second watch of the resource, from version. It calls event with the
	// resource version of each event and bookmark with the resource version of each bookmark, in
	// the order of the stream, and returns when the stream or the context ends.
	SecondWatch(ctx context.Context, version uint64, event, bookmark func(version uint64)) error
}

// Run asks the apiserver on behalf of the reads until the store ends. If the context ends before, the reads that wait
// then wait for the store.
func (f *Fence) Run(ctx context.Context) {
	f.worker.run(ctx, f.store.Done(), [actions]func(context.Context){
		asking: f.runProbe, listingAt: f.takeInventoryAt, proving: f.prove, reviving: f.endStall, mending: f.mend,
	})
}

// Facts returns the present facts. With them [Next] decides about a question, and nothing is done.
func (f *Fence) Facts() Facts {
	price, owed, state, event := f.nextInventoryWork(), f.allowance.wait(), f.store.Snapshot(), f.store.LastEvent()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	return Facts{
		Objects: state.Len(), Price: price, Owed: owed,
		Failed: now.Before(f.inventory.retryAt), Pending: !state.Reaches(f.inventory.pending),
		Reads: f.reads, UnderWay: f.underWay,
		Rising: f.rising, Found: now.Sub(f.risingAt), Silent: now.Sub(event) >= quietAfter, Missed: event.Before(f.missedAt),
		Doubtful: f.store.Doubtful(), Stalled: f.stalled, NextWatch: f.secondWatch.next.Sub(now),
	}
}
