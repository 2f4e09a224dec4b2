package fresh

import (
	"fmt"
	"time"

	"sluice/cache/fence"
	"sluice/proxy/request"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
	"sluice/proxy/why"
)

// foresee returns what EnsureFresh would return for a dry run that needs a proof. The reason is empty if it depends
// on the apiserver what proves the state.
func (a *Attempt) foresee(p *plan.Plan, mayPass bool) (outcome.Hit, error) {
	if p.HidesSize() { // the verdict would tell how large the selection is
		p.Info.Why.Doubt(why.Proof, "it depends on how many objects match, which is shown to authenticated readers only")
		return "", nil
	}
	n := fence.Need{Version: p.Version, Get: p.ConsistentGet()}
	n.Bytes, n.Small = p.Weigh(p.Resource.Store.Snapshot())
	if mayPass {
		n.MayPass = func() bool { return true }
	}
	switch Foresee(p, p.Resource.Fence, n, fence.Arrived) {
	case fence.Forward:
		if p.ConsistentGet() {
			return "", outcome.ConsistentGet
		}
		return "", outcome.SmallRead
	case fence.Refuse:
		return "", outcome.NotProvenInTime
	}
	if p.Match != plan.MatchMostRecent {
		return "", foreseeAhead(p)
	}
	if next, _, _ := p.Resource.Fence.Foresee(n, fence.Waited); next.Do == fence.Forward {
		p.Info.Why.Doubt(why.Proof, "it passes unless the cache has the apiserver's version, or gets it within moments")
	}
	return "", nil
}

// foreseeAhead doubts that the cache has the version of a dry run, and returns why the read passes if it has not.
func foreseeAhead(p *plan.Plan) error {
	p.Info.Why.Doubt(why.Version, fmt.Sprintf("the cache is at %d: only the apiserver knows whether there is a version %d",
		p.Resource.Store.Snapshot().Version, p.Version))
	return outcome.VersionNotReached
}

// Foreseen ends the dry run of a read that the cache would show.
func Foreseen(p *plan.Plan, reason outcome.Hit) {
	p.Info.Outcome = request.Outcome{Source: request.SourceCache, Reason: string(reason)}
}

// Foresee returns what a fence would do for a read after a step, and takes it down.
func Foresee(p *plan.Plan, f *fence.Fence, n fence.Need, after fence.Step) fence.Do {
	next, question, facts := f.Foresee(n, after)
	p.Info.Why.Rule(why.Proof, next.Do != fence.Forward && next.Do != fence.Refuse, func() string {
		switch {
		case next.Do == fence.Refuse:
			return "the last proof has not come in time"
		case p.HidesSize():
			return "of the objects that match, whose number is shown to authenticated readers only"
		}
		round := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
		return fmt.Sprintf("forwarding costs the apiserver %v, a list of all keys %v", round(question.Work), round(facts.Price))
	})
	return next.Do
}
