package serve

import (
	"net/http"

	"sluice/cache/fence"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

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
