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
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// proof is a proof that is waited for beside the loop. Nil is none.
type proof struct {
	began  time.Time
	done   chan struct{} // closed once answer and err are set
	cancel context.CancelFunc
	answer fence.Answer
	err    error
}

// startProof begins to wait for the proof that a watch needs.
func startProof(ctx context.Context, limit time.Time, p *plan.Plan, need fence.Need) *proof {
	ctx, cancel := context.WithDeadline(ctx, limit)
	cost := p.Estimate()
	need.Bytes, need.Small = cost.Bytes, cost.Small
	w := &proof{began: time.Now(), done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(w.done)
		w.answer, w.err = p.Resource.Fence.Prove(ctx, need)
	}()
	return w
}

// Done returns a channel that is closed when the wait has ended.
func (p *proof) Done() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.done
}

// Stop ends the wait.
func (p *proof) Stop() {
	if p != nil {
		p.cancel()
		<-p.done
	}
}

// awaitProof begins to wait for the proof that the initial events need, if they need one. A second watch
// of another Sluice waits for a proof too.
func (l *loop) awaitProof(ctx context.Context) {
	need := fence.Need{Patient: true}
	switch {
	case l.probes():
		need = fence.Need{What: fence.History}
	case l.initialEventsEnd != unproven:
		return
	case l.mayTakeOwnInventory():
		need.Scope = &l.plan.Selection.Scope
	}
	if l.proofLimit.IsZero() {
		l.proofLimit = time.Now().Add(fresh.ProofLimit)
	}
	l.proof = startProof(ctx, l.proofLimit, l.plan, need)
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

// proven takes the answer of the fence, and reports whether the watch goes on. Without a proof in time
// the initial events end with an error, as at the apiserver: the client then lists.
func (l *loop) proven() bool {
	answer, err, began := l.proof.answer, l.proof.err, l.proof.began
	l.proof.Stop()
	l.proof = nil
	if l.initialEventsEnd == 0 {
		if err = l.sendBookmark(); err != nil {
			l.endWith(err)
		}
		return err == nil
	}
	if err == nil {
		l.proofs.Proven(string(answer.Proof))
		if answer.Inventory == nil { // the inventory of a scope proves only the scope
			l.plan.Resource.Proven(began)
		}
		l.initialEventsEnd, l.inventory = answer.Version, cmp.Or(answer.Inventory, l.inventory)
		return true
	}
	switch {
	case errors.Is(err, cache.ErrClosed):
		return l.endAs(request.StoreRebuilt)
	case l.r.Context().Err() != nil:
		return l.endAs(request.ClientClosed)
	default:
		l.proofs.Proven(string(outcome.NotProvenInTime))
		late := apierrors.NewTimeoutError("", response.RetryAfter)
		late.ErrStatus.Message = message.NotProven.Say()
		l.writeError(late)
		return l.endAs(request.APIServerAway)
	}
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

// restartProof waits for another proof if the state that was confirmed is not the one that this watch
// has delivered, because late events have followed.
func (l *loop) restartProof(ctx context.Context) {
	if l.initialEventsEnd == 0 || l.proof != nil {
		return
	}
	l.initialEventsEnd = unproven
	l.awaitProof(ctx)
}
