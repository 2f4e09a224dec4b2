package serve

import (
	"errors"
	"net/http"

	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
	"sluice/proxy/why"
)

// Foresee says, as the outcome of a request that carries a recorder, what would become of it. The functions that
// decide about other requests decide about it; they wait for nothing.
func (h *Handler) Foresee(w http.ResponseWriter, r *http.Request) {
	info, q := request.From(r.Context()), h.newAttempt()
	p, err := h.try(w, r, info, q)
	if refused, ok := errors.AsType[*outcome.Refused](err); ok {
		info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: string(refused.Reason)}
		response.Error(w, r, refused.Err)
		return
	}
	if reason, passes := errors.AsType[outcome.Pass](err); passes {
		info.Outcome = request.Outcome{Source: request.SourceUpstream, Reason: string(reason)}
		h.foreseePass(p, reason)
	}
}

// foreseePass doubts that a read passes which the budget may hold back.
func (h *Handler) foreseePass(p *plan.Plan, reason outcome.Pass) {
	if f := h.factsOf(p, reason); f.counts() {
		c := claim{resource: p.Info.GroupVersionResource(), system: systemCaller(p.Info)}
		if c.bytes = passCost(p, h.options.Resources, reason); !h.budget.hasRoom(&c) {
			p.Info.Why.Doubt(why.Place, "cache.passedBytes is used up: the read waits, and then passes or gets 429 (pass-budget)")
		}
	}
}
