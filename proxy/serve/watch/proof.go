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
)

// proof is the result of the wait for a proof that began at a time.
type proof struct {
	began  time.Time
	answer fence.Answer
	err    error
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
	cost := s.plan.Estimate()
	need.Bytes, need.Small = cost.Bytes, cost.Small
	ctx, s.cancelProof = context.WithDeadline(ctx, s.proofLimit)
	proven := make(chan proof, 1)
	s.proof = proven
	go func() {
		began := time.Now()
		answer, err := s.plan.Resource.Fence.Prove(ctx, need)
		proven <- proof{began, answer, err}
	}()
}

// stopProof ends the wait.
func (s *source) stopProof() {
	if s.proof != nil {
		s.cancelProof()
		<-s.proof
	}
}

// proven takes the answer of the fence. Without a proof in time the initial events end with an error, as at the
// apiserver: the client then lists.
func (s *source) proven(ctx context.Context, p proof) error {
	s.cancelProof()
	s.proof = nil
	switch {
	case s.initialEventsEnd == 0: // an earlier inventory has come to prove them meanwhile
		return nil
	case p.err == nil:
		s.proofs.Proven(string(p.answer.Proof))
		if p.answer.Inventory == nil { // the inventory of a scope proves only the scope
			s.plan.Resource.Proven(p.began)
		}
		s.initialEventsEnd, s.inventory = p.answer.Version, cmp.Or(p.answer.Inventory, s.inventory)
		return nil
	case errors.Is(p.err, cache.ErrClosed):
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
