package serve

import (
	"net/http"

	"sluice/cache/fence"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
	"sluice/proxy/why"
)

// consistentGet plans a get of the most recent state. Alone it passes. Where other reads are under way,
// they share a proof if the get needs no access review, which would cost as much as the get itself.
// One that needs a review is no read that is under way: it may be denied, and must not spend the
// allowance of those that may read.
func (h *Handler) consistentGet(r *http.Request, p *plan.Plan, q *attempt) error {
	c, _ := h.options.Resources.Look(p.Read.GroupVersionResource)
	if !p.Info.Why.Rule(why.Proof, c != nil, func() string { return "the resource is not cached" }) {
		return outcome.ConsistentGet
	}
	var known bool
	known, q.Learn = h.options.Access.Recall(r, p.Read)
	if !p.Info.Why.Rule(why.Proof, known, func() string { return "a review of the right costs as much as the get" }) {
		return outcome.Forwarded{Pass: outcome.ConsistentGet, Allowed: q.Learn}
	}
	need := fence.Need{Get: true, Bytes: plan.AverageBytes(c.Store.Snapshot())}
	if fresh.Foresee(p, c.Fence, need, fence.Arrived) == fence.Forward {
		if p.Info.Why != nil {
			return outcome.ConsistentGet
		}
		return q.Forward(p, c.Fence.Forward(need.Bytes))
	}
	return h.plans.Resolve(r, p, q.deadline)
}
