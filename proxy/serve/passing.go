package serve

import (
	"cmp"
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
	"sluice/proxy/trace"
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
	// claimFor is how long a response that has begun counts for the budget. Most have ended by then; a
	// client that reads slowly keeps no room from others.
	claimFor = 30 * time.Second
	// unknownBytes is the estimate of all objects of a resource before anything is known of it, and
	// partOfAll the part of them that a read of one namespace, or with a selector, is taken to select.
	unknownBytes = 16 << 20
	partOfAll    = 16
	// leastBytes is what every read costs, and unknownObject is the estimate of an object.
	leastBytes    = 64 << 10
	unknownObject = 8 << 10
)

// attempt is what a request keeps while it is tried again until the cache can show the read or the budget
// lets it pass.
type attempt struct {
	fresh.Attempt
	budget *passBudget
	until  time.Time    // it may wait; zero before deadline
	claim  *claim       // nil until the read has to pass
	reason outcome.Pass // why the read has waited; empty if it has not
}

func (h *Handler) newAttempt() *attempt {
	now := time.Now()
	q := &attempt{budget: h.budget}
	q.Attempt = fresh.Attempt{Budget: q, Proofs: h.options.Metrics.proofs.Since(now), Began: now}
	return q
}

// deadline returns until when the request may wait. Its patience begins with the first call: reviews of its caller that took
// long take nothing of it.
func (q *attempt) deadline() time.Time {
	if q.until.IsZero() {
		q.until = time.Now().Add(passPatience + rand.N(refuseSpread))
	}
	return q.until
}

// claims asks for room for a read and reports whether there is.
func (q *attempt) claims(p *plan.Plan, bytes int64, recovers bool) bool {
	q.claim = q.budget.claim(claim{
		resource: p.Info.GroupVersionResource(), bytes: max(bytes, leastBytes), caller: p.Info.Account.Key.Group,
		system: systemCaller(p.Info), recovers: recovers,
	})
	return q.claim.hasRoom()
}

// Room implements Budget.
func (q *attempt) Room(p *plan.Plan, bytes int64) bool {
	if p.Verb == negotiate.Get || q.claims(p, bytes, false) {
		return true // a get costs next to nothing
	}
	q.end()
	return false
}

// end gives back what the request has of the budget.
func (q *attempt) end() {
	q.claim.end()
	q.claim = nil
}

// Served implements Budget.
func (q *attempt) Served() {
	if q.reason != "" {
		q.budget.metrics.budgeted(q.reason, resultWaitedServed)
	}
}

// action is what becomes of a read that the cache cannot show.
type action string

const (
	actionPass   action = "pass"
	actionWait   action = "wait"
	actionRefuse action = "refuse"
)

// passFacts is what decides about a read that the cache cannot show.
type passFacts struct {
	verb          negotiate.Verb
	initialEvents bool // of a watch
	cached        bool // the resource has a store in sync
	reason        outcome.Pass
	room          bool // the budget has room for it
	late          bool // it has waited for as long as it may
}

// next says what becomes of a read that the cache cannot show now.
func next(f passFacts) action {
	switch {
	case !f.counts(), f.room:
		return actionPass
	case f.late:
		return actionRefuse
	}
	return actionWait
}

// counts reports whether the read counts for the budget: a list that the cache would otherwise show, or a watch that
// begins with initial events. Watches of a cached resource count for whatever reason they pass, unless the apiserver is
// likely to refuse them: lists take seats of their priority level besides, watches do not.
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

// afford decides about a read that the cache cannot show for the reason. It waits for what all such reads
// share, the fill of the store or the end of a stall, or for room in the budget. It returns why the read
// passes, a Refused, or errAgain.
func (h *Handler) afford(ctx context.Context, p *plan.Plan, q *attempt, reason outcome.Pass) error {
	f := h.factsOf(p, reason)
	if !f.counts() {
		return reason
	}
	f.room = q.claims(p, passCost(p, h.options.Resources, reason), h.recovers(p, reason))
	f.late = time.Until(q.deadline()) <= 0
	for {
		switch next(f) {
		case actionPass:
			return q.pass(h.options.Metrics, reason)
		case actionRefuse:
			h.options.Metrics.budgeted(reason, resultRefused)
			q.end()
			return refusePass(p, reason)
		}
		q.reason = reason
		if h.awaitRoom(ctx, p, q, reason) {
			return errAgain // the claim is given up: a watch that is served would keep it for long
		}
		if ctx.Err() != nil {
			return reason // the client has gone
		}
		f.room, f.late = q.claim.hurry(), true
	}
}

// recovers reports whether the store of the read is likely to show it soon.
func (h *Handler) recovers(p *plan.Plan, reason outcome.Pass) bool {
	return reason == outcome.NotProvenInTime ||
		reason == resources.NotInSync && !h.options.Resources.Progress(p.Info.GroupVersionResource()).Failing
}

// awaitRoom waits until there is room for the read, or for as long as it may wait. It returns true if the
// cache may show the read before that.
func (h *Handler) awaitRoom(ctx context.Context, p *plan.Plan, q *attempt, reason outcome.Pass) bool {
	ctx, span := trace.Start(ctx, "room")
	defer span.End()
	ctx, cancel := context.WithDeadline(ctx, q.deadline())
	defer cancel()
	if reason != resources.NotInSync && reason != outcome.NotProvenInTime {
		select {
		case <-q.claim.granted:
		case <-ctx.Done():
		}
		return false
	}
	recovered := make(chan bool, 1)
	go func() { recovered <- h.awaitRecovery(ctx, p, q, reason) }()
	select {
	case <-q.claim.granted:
		cancel()
		<-recovered
		return false
	case again := <-recovered:
		return again
	}
}

// pass returns the error of a read that passes within the budget.
func (q *attempt) pass(m *Metrics, reason outcome.Pass) error {
	if q.reason == "" {
		m.budgeted(reason, resultPassed)
	} else {
		m.budgeted(q.reason, resultWaitedPassed)
	}
	return outcome.Forwarded{Pass: reason}
}

// awaitRecovery waits until the cache may show a read that it cannot show since its store is not in sync, or not proven. It
// returns false if ctx ends first.
func (h *Handler) awaitRecovery(ctx context.Context, p *plan.Plan, q *attempt, reason outcome.Pass) bool {
	if reason == resources.NotInSync {
		plan.AwaitSync(ctx, h.options.Resources, p.Info.GroupVersionResource(), nil, plan.NoneToCome)
		return ctx.Err() == nil
	}
	need := fence.Need{Version: p.Version, Current: q.Version, AtAnyPrice: true}
	if answer, err := p.Resource.Fence.Prove(ctx, need); err == nil {
		q.Version = answer.Version
	}
	return ctx.Err() == nil
}

// refusePass returns the refusal of a read that would cost the apiserver too much. The clients of a herd
// are told to come back at different times.
func refusePass(p *plan.Plan, reason outcome.Pass) error {
	text := message.PassBudget.Say(p.Info.GroupVersionResource().GroupResource(), reason)
	return &outcome.Refused{Reason: outcome.PassBudgetFull,
		Err: apierrors.NewTooManyRequests(text, 1+int(rand.N(retrySpread).Seconds()))}
}

// passCost estimates what a read that passes for the reason costs the apiserver, as the length of the stored objects that
// answer it.
func passCost(p *plan.Plan, from plan.Resources, reason outcome.Pass) int64 {
	switch {
	case reason == outcome.VersionNotReached && p.Match == plan.MatchNotOlderThan:
		return 0 // the apiserver has not reached it either, and answers with an error
	case p.Resource != nil:
		bytes, _ := p.Weigh(p.Resource.Store.Snapshot())
		return bytes
	}
	bytes := cmp.Or(from.Progress(p.Info.GroupVersionResource()).Bytes, unknownBytes)
	switch {
	case p.Read == nil || p.Read.Whole():
	case p.Read.RequiredName() != "":
		bytes = unknownObject
	default:
		bytes /= partOfAll
	}
	if limit := p.Options.Limit; limit > 0 && limit < bytes/unknownObject {
		bytes = limit * unknownObject
	}
	return bytes
}
