package serve

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache/fence"
	"sluice/codec/negotiate"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

const (
	// passPatience is how long a read that the budget does not let pass waits altogether, at least. A client that asks
	// for a state that is still on its way waits for a few seconds at the apiserver, too.
	passPatience = 10 * time.Second
	// refuseSpread is the time over which reads are refused that have come at the same time: clients that ignore
	// Retry-After repeat them at once.
	refuseSpread = 5 * time.Second
	// retrySpread is the time over which the clients come back that are refused.
	retrySpread = 10 * time.Second
	// placeBytes of objects that answer a read take a place at the apiserver, besides the first one, and mostPart of all
	// places, as a divisor, is the most that a read takes.
	placeBytes = 256 << 10
	mostPart   = 4
)

// attempt is the state of a request while it is tried again until the cache can show the read or there are places for it at the
// apiserver.
type attempt struct {
	fresh.Attempt
	handler *Handler
	until   time.Time // it may wait; zero before deadline
	leave   func()    // gives the places back; nil without places
	waited  bool      // the read of some namespaces has waited for the store
}

func (h *Handler) newAttempt() *attempt {
	now := time.Now()
	return &attempt{handler: h, Attempt: fresh.Attempt{Proofs: h.options.Metrics.proofs.Since(now), Began: now}}
}

// deadline returns until when the request may wait. Its patience begins with the first call: reviews of its caller that took
// long take nothing of it.
func (q *attempt) deadline() time.Time {
	if q.until.IsZero() {
		q.until = time.Now().Add(passPatience + rand.N(refuseSpread))
	}
	return q.until
}

// enters takes the places for a read that passes, if they are free.
func (q *attempt) enters(p *plan.Plan, places int) (entered bool) {
	q.leave, entered = q.handler.options.Queue.TryEnter(p.Info.Waits(), places)
	return entered
}

// end gives the places back that the request has.
func (q *attempt) end() {
	if q.leave != nil {
		q.leave()
		q.leave = nil
	}
}

// places returns how many places at the apiserver a read takes that is answered with so many bytes of objects.
func (h *Handler) places(bytes int64) int {
	all, _, _ := h.options.Queue.Numbers()
	return int(min(1+bytes/placeBytes, int64(max(1, all/mostPart))))
}

// passFacts decide whether a read counts that the cache cannot show.
type passFacts struct {
	verb          negotiate.Verb
	initialEvents bool // of a watch
	cached        bool // the resource has a store in sync
	reason        outcome.Pass
}

// counts reports whether the read takes places by its size: a list that the cache would otherwise show, or a watch that
// begins with initial events. Watches of a cached resource count for whatever reason they pass, unless the apiserver is
// likely to refuse them: the apiserver limits lists by their size itself, and watches it does not.
func (f *passFacts) counts() bool {
	switch f.verb {
	case negotiate.List:
		return f.reason.Cacheable()
	case negotiate.Watch:
		refused := f.reason == outcome.NotAllowed || f.reason == outcome.UnknownCaller
		return f.initialEvents && (f.reason.Cacheable() || f.cached && !refused)
	}
	return false
}

// factsOf returns the facts about a read that passes for the reason, whose options the plan may lack.
func (h *Handler) factsOf(p *plan.Plan, reason outcome.Pass) passFacts {
	f := passFacts{verb: p.Verb, reason: reason}
	if f.verb == negotiate.Watch {
		f.cached = h.options.Resources.Progress(p.Info.GroupVersionResource()).Synced
		o, _ := request.ParseListOptions(p.Info.Query)
		f.initialEvents = o.InitialEvents()
	}
	return f
}

// errAgain is returned for a read that the cache may show by now.
var errAgain = errors.New("the read is tried again")

// afford decides about a read that the cache cannot show for the reason. It passes if there are places for it. Otherwise
// it waits for the fill of the store or the end of a stall, which all such reads share, or for its places. It returns why
// the read passes, a Refused, or errAgain.
func (h *Handler) afford(ctx context.Context, p *plan.Plan, q *attempt, reason outcome.Pass) error {
	if f := h.factsOf(p, reason); !f.counts() {
		return reason
	}
	var bytes int64
	if reason != outcome.VersionNotReached || p.Match != plan.MatchNotOlderThan { // the apiserver answers that with an error
		bytes = p.Estimate().Bytes
	}
	if n := h.places(bytes); !q.enters(p, n) {
		if time.Until(q.deadline()) > 0 && h.await(ctx, p, q, reason, n) {
			return errAgain
		}
		switch {
		case q.leave != nil || q.enters(p, n):
		case ctx.Err() != nil:
			return reason // the client has gone
		default: // the clients of a herd are told to come back at different times
			text := message.PassBudget.Say(p.Info.GroupVersionResource().GroupResource(), reason)
			return &outcome.Refused{Reason: outcome.PassBudgetFull,
				Err: apierrors.NewTooManyRequests(text, 1+int(rand.N(retrySpread).Seconds()))}
		}
	}
	return outcome.Forwarded{Pass: reason}
}

// await waits until the cache may show the read, which it reports, or for as long as the read may wait. A read waits for
// its places, too, unless the store is likely to show it soon: one after the other they cost as much as at once.
func (h *Handler) await(ctx context.Context, p *plan.Plan, q *attempt, reason outcome.Pass, places int) (again bool) {
	ctx, cancel := context.WithDeadline(ctx, q.deadline())
	defer cancel()
	filling := reason == resources.NotInSync
	if reason == outcome.NotProvenInTime || filling && !h.options.Resources.Progress(p.Info.GroupVersionResource()).Failing {
		return h.awaitRecovery(ctx, p, q, reason)
	}
	recovery := make(chan bool, 1)
	if filling {
		go func() {
			defer cancel()
			recovery <- h.awaitRecovery(ctx, p, q, reason)
		}()
	} else {
		recovery <- false
	}
	q.leave, _ = h.options.Queue.Enter(ctx, p.Info.Waits(), places)
	cancel()
	if again = <-recovery; again {
		q.end()
	}
	return again
}

// awaitRecovery waits until the cache may show a read that it cannot show since its store is not in sync, or not proven. It
// returns false if ctx ends first.
func (h *Handler) awaitRecovery(ctx context.Context, p *plan.Plan, q *attempt, reason outcome.Pass) bool {
	if reason == resources.NotInSync {
		plan.AwaitSync(ctx, h.options.Resources, p.Info.GroupVersionResource(), nil, plan.NoneToCome)
		return ctx.Err() == nil
	}
	// A read of some namespaces never passes, so that it would have a store replaced whose watch is only late.
	need := fence.Need{Version: p.Version, Current: q.Version, AtAnyPrice: !p.Some(), Patient: p.Some()}
	if answer, err := p.Resource.Fence.Prove(ctx, need); err == nil {
		q.Version = answer.Version
	}
	return ctx.Err() == nil
}
