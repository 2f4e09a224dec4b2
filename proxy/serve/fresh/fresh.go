package fresh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
	"sluice/proxy/trace"
	"sluice/proxy/why"
)

const (
	// ProofLimit is how long a read waits for a proof altogether: as long as the apiserver waits for
	// its own watch cache (wire.md 11).
	ProofLimit = 3 * time.Second
)

// Budget bounds what the reads that pass cost the apiserver.
type Budget interface {
	// Room reports whether a read that does not wait for room may pass now.
	Room(p *plan.Plan, bytes int64) bool
	// Served takes note that the cache shows the read.
	Served()
}

// Attempt is what a request keeps while it is tried again until the cache can show the read or it passes.
type Attempt struct {
	Budget Budget
	Proofs Proofs
	Began  time.Time
	// Version is what a most recent read must reach, once it is known: the retry must not have to wait for
	// a newer one.
	Version uint64
	Learn   func() // keeps that the apiserver has allowed this get
	// Known is a time at which the newest state of the store was known to be the apiserver's. It must be set before
	// the state is taken, so that no state seems younger than it is; zero for reads of a version that they name.
	Known time.Time
}

// IsRecent reports whether the store shows a state that is recent enough for a most recent read, without a
// further proof: because it began after the read, or has reached the version that the read waits for.
func (a *Attempt) IsRecent(p *plan.Plan) bool {
	return a.filledSince(p) || a.Version > 0 && p.Resource.Store.Snapshot().Reaches(a.Version)
}

func (a *Attempt) filledSince(p *plan.Plan) bool {
	return p.Match == plan.MatchMostRecent && p.Resource.Began.After(a.Began)
}

// EnsureFresh waits until the newest state of the store may answer the read, and returns why that is
// known. A consistent read needs a state that was the apiserver's at some time after the call. The
// cheapest proof that is fast enough comes first. With mayPass, a read passes where a proof would cost
// the apiserver or the reader more.
func (a *Attempt) EnsureFresh(ctx context.Context, p *plan.Plan, mayPass bool) (outcome.Hit, error) {
	ctx, span := trace.Start(ctx, "prove")
	reason, err := a.ensureFresh(ctx, p, mayPass)
	span.Set("sluice.proof", string(reason))
	span.End()
	if a.Known = a.Began; p.Match != plan.MatchMostRecent {
		a.Known = p.Resource.LastProven()
	}
	return reason, err
}

func (a *Attempt) ensureFresh(ctx context.Context, p *plan.Plan, mayPass bool) (outcome.Hit, error) {
	store := p.Resource.Store
	if p.Match != plan.MatchMostRecent && store.Snapshot().Reaches(p.Version) {
		p.Info.Why.Rule(why.Version, true, func() string { return fmt.Sprintf("the cache is at %d", store.Snapshot().Version) })
		return outcome.AnyVersion, nil
	}
	if p.Info.Why != nil {
		return a.foresee(p, mayPass && p.Selection.Shards == nil)
	}
	first := a.Version == 0
	reason, err := a.prove(ctx, p, mayPass && p.Selection.Shards == nil)
	switch pass, passes := errors.AsType[outcome.Pass](err); {
	case passes:
		a.Proofs.Proven(string(pass))
		return "", err
	case err != nil:
		return "", err
	case first && p.Match == plan.MatchMostRecent && reason != outcome.FilledSince:
		p.Resource.Proven(a.Began)
	}
	a.Proofs.Proven(string(reason))
	return reason, nil
}

// foresee returns what EnsureFresh would return for a dry run that needs a proof. The reason is empty if it depends
// on the apiserver what proves the state.
func (a *Attempt) foresee(p *plan.Plan, mayPass bool) (outcome.Hit, error) {
	if p.HidesSelection() { // the verdict would tell how large the selection is
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

// Foresee returns what a fence would do for a read after a step, and takes it down.
func Foresee(p *plan.Plan, f *fence.Fence, n fence.Need, after fence.Step) fence.Do {
	next, question, facts := f.Foresee(n, after)
	p.Info.Why.Rule(why.Proof, next.Do != fence.Forward && next.Do != fence.Refuse, func() string {
		switch {
		case next.Do == fence.Refuse:
			return "the last proof has not come in time"
		case p.HidesSelection():
			return "of the objects that match, whose number is shown to authenticated readers only"
		}
		round := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
		return fmt.Sprintf("forwarding costs the apiserver %v, a list of all keys %v", round(question.Work), round(facts.Price))
	})
	return next.Do
}

// prove is EnsureFresh for a read that needs a proof.
func (a *Attempt) prove(ctx context.Context, p *plan.Plan, mayPass bool) (outcome.Hit, error) {
	if a.filledSince(p) {
		return outcome.FilledSince, nil
	}
	ctx, cancel := context.WithTimeout(ctx, ProofLimit)
	defer cancel()
	n := fence.Need{Version: p.Version, Current: a.Version, Get: p.ConsistentGet()}
	n.Bytes, n.Small = p.Weigh(p.Resource.Store.Snapshot())
	if mayPass {
		n.MayPass = func() bool { return a.Budget.Room(p, n.Bytes) }
	}
	answer, err := p.Resource.Fence.Prove(ctx, n)
	if p.Match == plan.MatchMostRecent {
		a.Version = cmp.Or(answer.Version, a.Version)
	}
	switch pass, passes := errors.AsType[fence.Pass](err); {
	case err == nil:
		return outcome.Hit(answer.Proof), nil
	case passes:
		return "", a.Forward(p, pass.Read)
	case errors.Is(err, cache.ErrAhead):
		return "", outcome.VersionNotReached // the apiserver waits for it, or refuses
	}
	return "", outcome.NotProvenInTime
}

// StateAtExactly returns the state at exactly the version of the plan.
func StateAtExactly(ctx context.Context, p *plan.Plan) (*cache.Snapshot, error) {
	state, err := p.Resource.Store.At(p.Version)
	if errors.Is(err, cache.ErrAhead) { // what it costs to weigh a selection is wasted on a version that is known
		if p.Info.Why != nil {
			return nil, foreseeAhead(p)
		}
		n := fence.Need{What: fence.Exactly, Version: p.Version, Rest: p.WeighRest(p.Resource.Store.Snapshot())}
		var answer fence.Answer
		answer, err = p.Resource.Fence.Prove(ctx, n)
		state = answer.State
	}
	p.Info.Why.Rule(why.Version, err == nil, func() string {
		return fmt.Sprintf("the history begins at %d", p.Resource.Store.OldestVersion())
	})
	switch {
	case err == nil:
		return state, nil
	case errors.Is(err, cache.ErrGone):
		return nil, outcome.VersionBeforeHistory
	}
	return nil, outcome.VersionNotReached
}

// foreseeAhead doubts that the cache has the version of a dry run, and returns why the read passes if it has not.
func foreseeAhead(p *plan.Plan) error {
	p.Info.Why.Doubt(why.Version, fmt.Sprintf("the cache is at %d: only the apiserver knows whether there is a version %d",
		p.Resource.Store.Snapshot().Version, p.Version))
	return outcome.VersionNotReached
}

// Forward returns the error of a read that passes, which is then under way until it has been forwarded.
func (a *Attempt) Forward(p *plan.Plan, read *fence.Read) error {
	if p.ConsistentGet() {
		return outcome.Forwarded{Pass: outcome.ConsistentGet, Read: read, Allowed: a.Learn}
	}
	return outcome.Forwarded{Pass: outcome.SmallRead, Read: read}
}
