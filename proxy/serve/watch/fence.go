package watch

import (
	"cmp"
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/proxy/message"
	"sluice/proxy/response"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
)

// result is a version that was current after the watch began, and that the store shows.
type result struct {
	version uint64
	proof   fence.Proof
	// inventory is of the scope of the watch alone; nil if the state of the whole resource is proven.
	inventory *cache.Inventory
	err       error
}

// proof proves the initial events of a watch recent while they are written.
type proof struct {
	result <-chan result // nil while nothing is waited for
	limit  time.Time
	stop   func() // ends the wait
}

// awaitFence begins to wait for the proof that the initial events need, if they need one. A second watch
// of another Sluice waits for a proof too.
func (l *loop) awaitFence(ctx context.Context) {
	l.fence.stop = func() {}
	history := l.probes()
	if l.initialEventsEnd != unproven && !history {
		return
	}
	if l.fence.limit.IsZero() {
		l.fence.limit = time.Now().Add(fresh.ProofLimit)
	}
	ctx, cancel := context.WithDeadline(ctx, l.fence.limit)
	result, ended := make(chan result, 1), make(chan struct{})
	scoped := !history && l.mayTakeOwnInventory()
	go func() {
		defer close(ended)
		result <- l.waitForFence(ctx, history, scoped)
	}()
	l.fence.result = result
	l.fence.stop = func() { cancel(); <-ended }
}

// waitForFence waits until the store shows a version that is current now, and with history has every
// event up to it. With scoped, an inventory of the scope of a small watch alone comes first, if that costs the
// apiserver less than what proves the whole resource. It runs beside the loop, whose state it must not read.
func (l *loop) waitForFence(ctx context.Context, history, scoped bool) (r result) {
	f := l.plan.Resource.Fence
	bytes, small := l.plan.Weigh(l.plan.Resource.Store.Snapshot())
	read := f.Begin(bytes)
	defer read.End()
	if read.Next(fence.Question{After: fence.Arrived, Scoped: scoped, Small: small, Patient: true}).Do == fence.TakeInventoryOf {
		if r.inventory, r.err = f.InventoryOf(ctx, l.plan.Selection.Scope); r.err == nil {
			return result{version: r.inventory.Version, proof: fence.ByInventory, inventory: r.inventory}
		}
	}
	if !history {
		r.version, r.proof, r.err = f.WaitUntilCurrent(ctx)
		return r
	}
	if r.version, r.err = f.CurrentVersion(ctx); r.err == nil {
		r.err = f.ConfirmHistory(ctx, r.version)
	}
	return r
}

// mayTakeOwnInventory reports whether the watch has a scope of its own whose inventory has not been taken. That is
// tried once: if the watch has not delivered the listed state, the events that it lacks are on their way.
func (l *loop) mayTakeOwnInventory() bool {
	return l.inventory == nil && l.plan.Selection.Scope != (cache.Scope{})
}

// secondWatchLife is the longest life of a watch that is taken for a second watch. It is too short for
// anything else than to receive a bookmark.
const secondWatchLife = 3 * time.Second

// probes reports whether the watch is there to receive a bookmark soon.
func (l *loop) probes() bool {
	o := &l.plan.Options
	return l.initialEventsEnd == 0 && o.AllowBookmarks && o.Timeout > 0 && o.Timeout <= secondWatchLife
}

// fenced takes the result of the fence, and reports whether the watch goes on. Without a proof in time
// the initial events end with an error, as at the apiserver: the client then lists.
func (l *loop) fenced(r result) bool {
	l.fence.stop()
	l.fence.result, l.fence.stop = nil, func() {}
	if l.initialEventsEnd == 0 {
		return l.sendBookmark() == nil
	}
	if r.err == nil {
		l.proofs.Proven(r.proof.String())
		if r.inventory == nil { // the inventory of a scope proves only the scope
			l.plan.Resource.Proven()
		}
		l.initialEventsEnd, l.inventory = r.version, cmp.Or(r.inventory, l.inventory)
		return true
	}
	if !errors.Is(r.err, cache.ErrClosed) && l.r.Context().Err() == nil {
		l.plan.Resource.Fence.GiveUp()
		l.proofs.Proven(string(outcome.NotProvenInTime))
		late := apierrors.NewTimeoutError("", response.RetryAfter)
		late.ErrStatus.Message = message.NotProven.Say()
		l.writeError(late)
	}
	return false
}

// writeError writes an ERROR event, before the watch ends.
func (l *loop) writeError(err *apierrors.StatusError) {
	l.buf = l.plan.Format.AppendErrorEvent(l.buf[:0], &err.ErrStatus)
	if l.out.write(l.buf) == nil {
		_ = l.out.flush() // an error means that the client has gone
	}
}

// initialEventsProven reports whether the initial events have ended: everything up to a version that is
// proven recent has been delivered, or the delivered state is the one that an inventory has confirmed.
func (l *loop) initialEventsProven() bool {
	if l.inventory != nil {
		if version := l.cursor.SkipToInventory(l.inventory); version > 0 {
			l.delivered = max(l.delivered, version)
			return true
		}
	}
	if l.initialEventsEnd == unproven {
		return false
	}
	if l.delivered < l.initialEventsEnd {
		l.delivered = max(l.delivered, l.cursor.SkipToConfirmed())
	}
	return l.delivered >= l.initialEventsEnd
}

// restartFence waits for another proof if the state that was confirmed is not the one that this watch
// has delivered, because late events have followed.
func (l *loop) restartFence(ctx context.Context) {
	if l.initialEventsEnd == 0 || l.fence.result != nil {
		return
	}
	l.initialEventsEnd = unproven
	l.awaitFence(ctx)
}
