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

// awaitProof begins to wait for the proof that the initial events need, if they need one.
func (s *source) awaitProof(ctx context.Context) {
	if s.initialEventsEnd != unproven {
		return
	}
	need := fence.Need{Patient: true}
	if s.inventory == nil && s.plan.Selection.Scope != (cache.Scope{}) {
		// The inventory of the watch's own scope is tried once: if the watch has not delivered the listed state, the events
		// that it lacks are on their way.
		need.Scope = &s.plan.Selection.Scope
	}
	if s.proofLimit.IsZero() {
		s.proofLimit = time.Now().Add(fresh.ProofLimit)
	}
	s.proof = startProof(ctx, s.proofLimit, s.plan, need)
}

// stopProof ends the wait.
func (s *source) stopProof() {
	if s.proof != nil {
		s.proof.cancel()
		<-s.proof.done
		s.proof = nil
	}
}

// proven takes the answer of the fence. Without a proof in time the initial events end with an error, as at the
// apiserver: the client then lists.
func (s *source) proven(ctx context.Context) error {
	answer, err, began := s.proof.answer, s.proof.err, s.proof.began
	s.stopProof()
	switch {
	case s.initialEventsEnd == 0: // an earlier inventory has come to prove them meanwhile
		return nil
	case err == nil:
		s.proofs.Proven(string(answer.Proof))
		if answer.Inventory == nil { // the inventory of a scope proves only the scope
			s.plan.Resource.Proven(began)
		}
		s.initialEventsEnd, s.inventory = answer.Version, cmp.Or(answer.Inventory, s.inventory)
		return nil
	case errors.Is(err, cache.ErrClosed):
		return ended(request.StoreRebuilt)
	case ctx.Err() != nil:
		return ended(request.ClientClosed)
	}
	s.proofs.Proven(string(outcome.NotProvenInTime))
	late := apierrors.NewTimeoutError("", response.RetryAfter)
	late.ErrStatus.Message = message.NotProven.Say()
	return late
}

// initialEventsProven reports whether the initial events have ended: everything up to a version that is
// proven recent has been delivered, or the delivered state is the one that an inventory has confirmed.
func (s *source) initialEventsProven() bool {
	if s.inventory != nil {
		if version := s.cursor.SkipToInventory(s.inventory); version > 0 {
			s.delivered = max(s.delivered, version)
			return true
		}
	}
	if s.initialEventsEnd == unproven {
		return false
	}
	if s.delivered < s.initialEventsEnd {
		s.delivered = max(s.delivered, s.cursor.SkipToConfirmed())
	}
	return s.delivered >= s.initialEventsEnd
}

// restartProof waits for another proof if the state that was confirmed is not the one that this watch
// has delivered, because late events have followed.
func (s *source) restartProof(ctx context.Context) {
	if s.initialEventsEnd == 0 || s.proof != nil {
		return
	}
	s.initialEventsEnd = unproven
	s.awaitProof(ctx)
}
