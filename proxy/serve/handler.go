package serve

import (
	"net/http"
	"time"

	"sluice/cache/fence"
	"sluice/cache/tree"
	"sluice/codec/negotiate"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/list"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
	"sluice/proxy/serve/watch"
)

// Access authorizes reads from the cache.
type Access interface {
	plan.Access
	watch.Access
	// Recall reports whether the authenticated caller of r is known to be allowed the read. If the
	// apiserver answers r with 200, learn must be called.
	Recall(r *http.Request, read *request.Read) (allowed bool, learn func())
}

// Options sets up a Handler.
type Options struct {
	Resources plan.Resources
	Access    Access
	// Next forwards the requests that are not served from the cache.
	Next http.Handler
	// Away reports whether the apiserver does not answer, so that nothing waits for it; nil reports false.
	Away func() bool
	// Recheck is the longest time between two checks of the access of an open watch; required.
	Recheck time.Duration
	// Draining is closed when open watches must end, spread over the time that Spread returns. Nil never
	// drains.
	Draining <-chan struct{}
	Spread   func() time.Duration
	// Encoded bounds the memory of encoded and compressed segments, for all resources together; nil
	// keeps none.
	Encoded *tree.Budget
	// CompressWatches compresses every watch whose client accepts it, not only streaming lists.
	CompressWatches bool
	// Strict passes requests for formats that the apiserver itself may not support.
	Strict   bool
	Features plan.Features
	Policies []plan.Policy
	// Metrics counts served reads; nil counts nothing.
	Metrics *Metrics
	// CPU shares the processors among users; nil lets everybody work at once.
	CPU *flowcontrol.CPU
	// Queue has the places at the apiserver; required.
	Queue *limits.Queue
}

// Handler serves gets, lists and watches from the watch cache.
type Handler struct {
	options Options
	plans   plan.Options
	lists   list.Server
	watches watch.Server
}

// New returns a Handler.
func New(o Options) *Handler {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.Away == nil {
		o.Away = func() bool { return false }
	}
	h := &Handler{
		options: o,
		plans: plan.Options{
			Resources: o.Resources, Access: o.Access, Indexes: o.Encoded, Strict: o.Strict, Features: o.Features, Policies: o.Policies,
			Projected: o.Metrics.projected, Shown: plan.NewShown(),
		},
		lists: list.Server{Encoded: o.Encoded, CPU: o.CPU},
		watches: watch.Server{
			Access: o.Access, Resources: o.Resources, Encoded: o.Encoded, CPU: o.CPU,
			Draining: o.Draining, Spread: o.Spread, Metrics: o.Metrics.watches,
		},
	}
	h.SetWatches(o.Recheck, o.CompressWatches)
	return h
}

// SetWatches changes the longest time between two checks of the access of a watch, for open watches from
// their next check on, and whether watches are compressed that are opened from now on.
func (h *Handler) SetWatches(recheck time.Duration, compress bool) { h.watches.Set(recheck, compress) }

// ServeHTTP implements http.Handler. It panics with http.ErrAbortHandler if a response fails after
// its first byte, so that the client cannot take a part for the whole response.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, q := request.From(r.Context()), h.newAttempt()
	err := errAgain
	for err == errAgain {
		err = h.try(w, r, info, q)
	}
	if err != nil {
		h.answer(w, r, info, q, err)
	}
}

// answer answers a request that was not served, as its error says.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, info *request.Info, q *attempt, err error) {
	switch err := err.(type) {
	case *outcome.Refused:
		info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: string(err.Reason)}
		response.Error(w, r, err.Err)
	case outcome.Pass:
		h.pass(w, r, info, err, nil)
	case outcome.Forwarded:
		defer q.end()
		defer err.Read.End()
		info.Placed = q.leave != nil
		recorder := response.RecorderOf(w)
		recorder.OnHeader(err.Begun)
		h.pass(recorder, r, info, err.Pass, q.leave)
	default:
		panic(http.ErrAbortHandler)
	}
}

// pass passes a request that is not served, which may have places at the apiserver.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, info *request.Info, reason outcome.Pass, leave func()) {
	info.Outcome.Reason = string(reason)
	r = h.upstreamRequest(r, info, reason)
	if info.Verb == "watch" {
		h.passWatch(w, r, info, reason, leave)
		return
	}
	h.options.Next.ServeHTTP(w, r)
}

// try serves the request. An error is errAgain, or a Pass, a Forwarded or a Refused of outcome, if nothing has been
// written yet.
func (h *Handler) try(w http.ResponseWriter, r *http.Request, info *request.Info, q *attempt) error {
	q.Away = h.options.Away()
	p, err := h.plan(r, info, q)
	switch {
	case err != nil:
	case p.Verb == negotiate.Watch:
		err = h.watches.Watch(w, r, p, &q.Attempt)
	case p.Verb == negotiate.Get:
		err = h.lists.Get(w, r, p, &q.Attempt)
	default:
		err = h.lists.List(w, r, p, &q.Attempt)
	}
	switch passes := err.(type) {
	case outcome.Pass:
		switch refused := refuseShard(p, passes); {
		case p.Some():
			err = h.refuseSome(r.Context(), p, q, passes)
		case h.options.Features.ShardSelector && refused != nil:
			err = refused
		case !h.options.Away():
			err = h.afford(r.Context(), p, q, passes)
		}
	case outcome.Forwarded:
		if p.Verb != negotiate.Get && !q.enters(p, h.places(p.Estimate().Bytes)) { // a get costs next to nothing
			passes.Read.Answered() // and is not charged
			q.Stays, err = true, errAgain
		}
	}
	if _, passes := err.(outcome.Forwarded); !passes {
		q.end()
	}
	return err
}

// plan returns the plan for a request, with the reason why the read passes. The plan then has the parsed fields.
func (h *Handler) plan(r *http.Request, info *request.Info, q *attempt) (*plan.Plan, error) {
	end, err := h.options.CPU.Parse(r.Context(), info)
	if err != nil {
		return nil, err
	}
	p, err := h.plans.Parse(r, info)
	if end(); err != nil {
		return p, err
	}
	if p.ConsistentGet() {
		return p, h.consistentGet(r, p, q)
	}
	return p, h.resolve(r, p, q)
}

// resolve completes a plan. Patience begins after the review of the caller.
func (h *Handler) resolve(r *http.Request, p *plan.Plan, q *attempt) error {
	if err := h.plans.Authorize(r, p); err != nil {
		return err
	}
	return h.plans.Resolve(r, p, q.deadline())
}

// consistentGet plans a get of the most recent state. Alone it passes. Where other reads are under way,
// they share a proof if the get needs no access review, which would cost as much as the get itself.
// One that needs a review is no read that is under way: it may be denied, and must not spend the
// allowance of those that may read.
func (h *Handler) consistentGet(r *http.Request, p *plan.Plan, q *attempt) error {
	c, _ := h.options.Resources.Look(p.Read.GroupVersionResource)
	if c == nil {
		return outcome.ConsistentGet
	}
	var known bool
	known, q.Learn = h.options.Access.Recall(r, p.Read)
	if !known { // a review costs as much as the get
		return outcome.Forwarded{Pass: outcome.ConsistentGet, Allowed: q.Learn}
	}
	need := fence.Need{Get: true, Bytes: plan.AverageBytes(c.Store.Snapshot())}
	if c.Fence.Foresee(need) == fence.Forward {
		return q.Forward(p, c.Fence.Forward(need.Bytes))
	}
	return h.resolve(r, p, q)
}
