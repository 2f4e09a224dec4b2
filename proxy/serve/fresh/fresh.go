package fresh

import (
	"cmp"
	"context"
	"errors"
	"time"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
	"sluice/proxy/trace"
)

const (
	// ProofLimit is how long a read waits for a proof altogether: as long as the apiserver waits for
	// its own watch cache (wire.md 11).
	ProofLimit = 3 * time.Second
)

// Attempt is the state of a request while it is tried again until the cache can show the read or it passes.
type Attempt struct {
	Proofs Proofs
	Began  time.Time
	Stays  bool // it does not pass where a proof would cost more: the apiserver has no place for it
	// Version is the version that a most recent read must reach, once it is known: the retry must not have to wait for
	// a newer one.
	Version uint64
	Learn   func() // keeps that the apiserver has allowed this get
	Away    bool   // the apiserver does not answer: a proof is not waited for
	// Known is a time at which the newest state of the store was known to be the apiserver's. It must be set before
	// the state is taken, so that no state seems younger than it is; zero for reads of a version that they name.
	Known time.Time
}

// IsRecent reports whether the store shows a state that is recent enough for a most recent read, without a
// further proof: because it began after the read, or has reached the version that the read waits for.
func (a *Attempt) IsRecent(p *plan.Plan) bool {
	return a.filledSince(p) || a.Version > 0 && p.Resource.Store.Proves(a.Version)
}

func (a *Attempt) filledSince(p *plan.Plan) bool {
	return p.Match == plan.MatchMostRecent && p.Resource.Began.After(a.Began)
}

// EnsureFresh waits until the newest state of the store may answer the read, and returns why that is
// known. A consistent read needs a state that was the apiserver's at some time after the call. The
// cheapest proof that is fast enough comes first. With mayPass, a read passes where a proof would cost
// the apiserver or the reader more.
func (a *Attempt) EnsureFresh(ctx context.Context, p *plan.Plan, mayPass bool) (reason outcome.Hit, err error) {
	ctx, span := trace.Start(ctx, "prove")
	newest, first := p.Match == plan.MatchMostRecent, a.Version == 0
	if !newest && p.Resource.Store.Snapshot().Reaches(p.Version) {
		reason = outcome.AnyVersion
	} else {
		reason, err = a.prove(ctx, p, mayPass && !p.OnlyHere())
		pass, _ := errors.AsType[outcome.Pass](err)
		a.Proofs.Proven(cmp.Or(string(pass), string(reason)))
		if err == nil && first && newest && reason != outcome.FilledSince {
			p.Resource.Proven(a.Began)
		}
	}
	span.Set("sluice.proof", string(reason))
	span.End()
	if a.Known = a.Began; !newest {
		a.Known = p.Resource.LastProven()
	}
	return reason, err
}

// prove is EnsureFresh for a read that needs a proof. The error is a Pass or a Forwarded of outcome.
func (a *Attempt) prove(ctx context.Context, p *plan.Plan, mayPass bool) (outcome.Hit, error) {
	if a.filledSince(p) {
		return outcome.FilledSince, nil
	}
	if a.Away {
		return "", outcome.NotProvenInTime
	}
	ctx, cancel := context.WithTimeout(ctx, ProofLimit)
	defer cancel()
	cost := p.Estimate()
	answer, err := p.Resource.Fence.Prove(ctx, fence.Need{
		Version: p.Version, Current: a.Version, Get: p.ConsistentGet(), Bytes: cost.Bytes, Small: cost.Small,
		MayPass: mayPass && !a.Stays,
	})
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
	if errors.Is(err, cache.ErrAhead) { // an estimate would be wasted on a version that is known
		n := fence.Need{What: fence.Exactly, Version: p.Version, Rest: p.Estimate().Rest}
		var answer fence.Answer
		answer, err = p.Resource.Fence.Prove(ctx, n)
		state = answer.State
	}
	switch {
	case err == nil:
		return state, nil
	case errors.Is(err, cache.ErrGone):
		return nil, outcome.VersionBeforeHistory
	}
	return nil, outcome.VersionNotReached
}

// Forward returns the error of a read that passes, which is then under way until it has been forwarded.
func (a *Attempt) Forward(p *plan.Plan, read *fence.Read) error {
	if p.ConsistentGet() {
		return outcome.Forwarded{Pass: outcome.ConsistentGet, Read: read, Allowed: a.Learn}
	}
	return outcome.Forwarded{Pass: outcome.SmallRead, Read: read}
}
