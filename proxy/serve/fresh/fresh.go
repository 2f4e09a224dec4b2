package fresh

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/proxy/resources"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
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
	Proofs *Metrics
	Began  time.Time
	// Version is what a most recent read must reach, once it is known: the retry must not have to wait for
	// a newer one.
	Version uint64
	Read    *fence.Read // of a get of the most recent state that is not alone; otherwise nil
	Learn   func()      // keeps that the apiserver has allowed this get
	// Known is a time at which the newest state of the store was known to be the apiserver's. It must be set before
	// the state is taken, so that no state seems younger than it is; zero for reads of a version that they name.
	Known time.Time
}

// IsRecent reports whether a store shows a state that is recent enough for a most recent read, without a
// further proof: because it has reached the version that the read waits for, or began after the read.
func (a *Attempt) IsRecent(c *resources.CachedResource) (reason outcome.Hit, ok bool) {
	switch {
	case c.Began.After(a.Began):
		return outcome.FilledSince, true
	case a.Version > 0 && c.Store.Snapshot().Reaches(a.Version):
		return outcome.Hit(c.Fence.ProofOf(a.Version).String()), true
	}
	return "", false
}

// EnsureFresh waits until the newest state of the store may answer the read, and returns why that is
// known. A consistent read needs a state that was the apiserver's at some time after the call. The
// cheapest proof that is fast enough comes first. With mayPass, a read passes where a proof would cost
// the apiserver or the reader more.
func (a *Attempt) EnsureFresh(ctx context.Context, p *plan.Plan, mayPass bool) (outcome.Hit, error) {
	reason, err := a.ensureFresh(ctx, p, mayPass)
	if a.Known = a.Began; p.Match != plan.MatchMostRecent {
		a.Known = p.Resource.LastProven()
	}
	return reason, err
}

func (a *Attempt) ensureFresh(ctx context.Context, p *plan.Plan, mayPass bool) (outcome.Hit, error) {
	store := p.Resource.Store
	if p.Match != plan.MatchMostRecent && store.Snapshot().Reaches(p.Version) {
		return outcome.AnyVersion, nil
	}
	if reason, ok := a.IsRecent(p.Resource); ok && p.Match == plan.MatchMostRecent {
		a.Proofs.Proven(string(reason))
		if a.Read != nil {
			a.Read.End()
		}
		return reason, nil
	}
	reason, err := a.prove(ctx, p, mayPass && p.Selection.Shards == nil)
	if err != nil {
		if pass, ok := errors.AsType[outcome.Pass](err); ok {
			a.Proofs.Proven(string(pass))
		}
		return "", err
	}
	if p.Match == plan.MatchMostRecent {
		p.Resource.Proven()
	}
	a.Proofs.Proven(string(reason))
	return reason, nil
}

// prove is ensureFresh for a read that needs a proof.
func (a *Attempt) prove(ctx context.Context, p *plan.Plan, mayPass bool) (outcome.Hit, error) {
	bytes, small := p.Weigh(p.Resource.Store.Snapshot())
	read := a.Read
	if read == nil {
		read = p.Resource.Fence.Begin(bytes)
	}
	question := fence.Question{After: fence.Arrived, Small: small, MayForward: mayPass}
	next := a.next(p, read, question)
	if next.Do == fence.Forward {
		return "", a.Forward(p, read)
	}
	reason, err := outcome.Hit(""), error(outcome.NotProvenInTime)
	if next.Do != fence.Refuse {
		reason, err = a.waitForProof(ctx, p, read, mayPass)
	}
	if _, forwarded := errors.AsType[outcome.Forwarded](err); !forwarded {
		read.End()
	}
	return reason, err
}

// waitForProof waits until the store shows the state that the read needs.
func (a *Attempt) waitForProof(ctx context.Context, p *plan.Plan, read *fence.Read, mayPass bool) (outcome.Hit, error) {
	store, proofs := p.Resource.Store, p.Resource.Fence
	ctx, cancel := context.WithTimeout(ctx, ProofLimit)
	defer cancel()
	current, err := a.currentVersion(ctx, p)
	version := p.Version
	switch {
	case err != nil:
		return "", outcome.NotProvenInTime
	case version > current:
		return "", outcome.VersionNotReached // the apiserver waits for it, or refuses
	case p.Match == plan.MatchMostRecent:
		version = current
		a.Version = version
	}
	if store.ProvesHistory(version) {
		return outcome.UpToDate, nil
	}
	if proofs.WaitBriefly(ctx, version, read.Next(fence.Question{After: fence.Known}).For) {
		return outcome.Hit(proofs.ProofOf(version).String()), nil
	}
	if mayPass { // what it costs to weigh a selection is wasted on a read that cannot pass
		_, small := p.Weigh(store.Snapshot())
		if a.next(p, read, fence.Question{After: fence.Waited, Small: small, MayForward: true}).Do == fence.Forward {
			return "", a.Forward(p, read)
		}
	}
	proof, err := proofs.Confirm(ctx, version)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			proofs.GiveUp()
		}
		return "", outcome.NotProvenInTime
	}
	return outcome.Hit(proof.String()), nil
}

// currentVersion returns the version of the apiserver that a read needs, the same as long as it is tried.
func (a *Attempt) currentVersion(ctx context.Context, p *plan.Plan) (uint64, error) {
	if a.Version > 0 {
		return a.Version, nil
	}
	return p.Resource.Fence.CurrentVersion(ctx)
}

// next decides what is done for the read. A read is forwarded only if the budget of passed reads has room.
func (a *Attempt) next(p *plan.Plan, read *fence.Read, q fence.Question) fence.Action {
	next := read.Next(q)
	if next.Do == fence.Forward && !a.Budget.Room(p, read.Bytes()) {
		q.MayForward = false
		next = read.Next(q)
	}
	return next
}

// StateAtExactly returns the state at exactly the version of the plan. A version that the store has not
// reached is waited for as long as the watch of the store may take, unless that is likely to be in
// vain. Then only an inventory of that version tells the state: no proof of a newer state tells what
// came before it.
func StateAtExactly(ctx context.Context, p *plan.Plan) (*cache.Snapshot, error) {
	proofs := p.Resource.Fence
	brief, cancel := context.WithTimeout(ctx, proofs.Next(fence.Question{After: fence.Known, Exactly: true}).For)
	defer cancel()
	state, err := proofs.WaitAt(brief, p.Version)
	if errors.Is(err, context.DeadlineExceeded) {
		page, rest := p.WeighRest(p.Resource.Store.Snapshot())
		state, err = proofs.ConfirmAt(ctx, p.Version, page, rest)
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
	read.Forward()
	if p.ConsistentGet() {
		return outcome.Forwarded{Pass: outcome.ConsistentGet, Read: read, Allowed: a.Learn}
	}
	return outcome.Forwarded{Pass: outcome.SmallRead, Read: read}
}
