package serve

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/cache/tree"
	"sluice/proxy/serve/outcome"
)

const (
	// proofLimit is how long a read waits for a proof altogether: as long as the apiserver waits for
	// its own watch cache (wire.md 11).
	proofLimit = 3 * time.Second
	// A read is small if it is a page of up to smallPage objects or if about smallBytes of stored
	// objects answer it. Such a read costs the apiserver little.
	smallPage  = 500
	smallBytes = 1 << 20
)

// ensureFresh waits until the newest state of the store may answer the read, and returns why that is
// known. A consistent read needs a state that was the apiserver's at some time after the call. The
// cheapest proof that is fast enough comes first. With mayPass, a read passes where a proof would cost
// the apiserver or the reader more.
func (p *plan) ensureFresh(ctx context.Context, mayPass bool) (outcome.Hit, error) {
	store := p.resource.Store
	if p.match != matchMostRecent && store.Snapshot().Reaches(p.version) {
		return outcome.AnyVersion, nil
	}
	if reason, ok := p.attempt.isRecent(p.resource); ok && p.match == matchMostRecent {
		p.metrics.proven(string(reason))
		return reason, nil
	}
	reason, err := p.prove(ctx, mayPass && p.selection.shards == nil)
	if err != nil {
		if pass, ok := errors.AsType[outcome.Pass](err); ok {
			p.metrics.proven(string(pass))
		}
		return "", err
	}
	p.resource.Proven()
	p.metrics.proven(string(reason))
	return reason, nil
}

// prove is ensureFresh for a read that needs a proof.
func (p *plan) prove(ctx context.Context, mayPass bool) (outcome.Hit, error) {
	bytes, small := p.weigh(p.resource.Store.Snapshot())
	read := p.underWay
	if read == nil {
		read = p.resource.Fence.Begin(bytes)
	}
	question := fence.Question{After: fence.Arrived, Small: small, MayForward: mayPass}
	next := p.next(read, question)
	if next.Do == fence.Forward {
		return "", p.forward(read)
	}
	reason, err := outcome.Hit(""), error(outcome.NotProvenInTime)
	if next.Do != fence.Refuse {
		reason, err = p.waitForProof(ctx, read, mayPass)
	}
	if _, forwarded := errors.AsType[outcome.Forwarded](err); !forwarded {
		read.End()
	}
	return reason, err
}

// waitForProof waits until the store shows the state that the read needs.
func (p *plan) waitForProof(ctx context.Context, read *fence.Read, mayPass bool) (outcome.Hit, error) {
	store, proofs := p.resource.Store, p.resource.Fence
	ctx, cancel := context.WithTimeout(ctx, proofLimit)
	defer cancel()
	current, err := p.currentVersion(ctx)
	version := p.version
	switch {
	case err != nil:
		return "", outcome.NotProvenInTime
	case version > current:
		return "", outcome.VersionNotReached // the apiserver waits for it, or refuses
	case p.match == matchMostRecent:
		version = current
		p.attempt.version = version
	}
	if store.ProvesHistory(version) {
		return outcome.UpToDate, nil
	}
	if proofs.WaitBriefly(ctx, version, read.Next(fence.Question{After: fence.Known}).For) {
		return outcome.Hit(proofs.ProofOf(version).String()), nil
	}
	_, small := p.weigh(store.Snapshot())
	if p.next(read, fence.Question{After: fence.Waited, Small: small, MayForward: mayPass}).Do == fence.Forward {
		return "", p.forward(read)
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
func (p *plan) currentVersion(ctx context.Context) (uint64, error) {
	if p.attempt.version > 0 {
		return p.attempt.version, nil
	}
	return p.resource.Fence.CurrentVersion(ctx)
}

// next decides what is done for the read. A read is forwarded only if the budget of passed reads has room.
func (p *plan) next(read *fence.Read, q fence.Question) fence.Action {
	next := read.Next(q)
	if next.Do == fence.Forward && !p.attempt.claimsNow(p, read.Bytes()) {
		q.MayForward = false
		next = read.Next(q)
	}
	return next
}

// past returns the state at exactly the version of the plan. A version that the store has not
// reached is waited for as long as the watch of the store may take, unless that is likely to be in
// vain. Then only an inventory of that version tells the state: no proof of a newer state tells what
// came before it.
func (p *plan) past(ctx context.Context) (*cache.Snapshot, error) {
	proofs := p.resource.Fence
	brief, cancel := context.WithTimeout(ctx, proofs.Next(fence.Question{After: fence.Known, Exactly: true}).For)
	defer cancel()
	state, err := proofs.WaitAt(brief, p.version)
	if errors.Is(err, context.DeadlineExceeded) {
		page, rest := p.weighRest(p.resource.Store.Snapshot())
		state, err = proofs.ConfirmAt(ctx, p.version, page, rest)
	}
	switch {
	case err == nil:
		return state, nil
	case errors.Is(err, cache.ErrGone):
		return nil, outcome.VersionBeforeHistory
	}
	return nil, outcome.VersionNotReached
}

// weighRest estimates the length of the page that the read asks for, and of the rest of its list
// from this page on.
func (p *plan) weighRest(state *cache.Snapshot) (page, rest int64) {
	s := p.selection
	s.keys.From = max(s.keys.From, p.pageStart)
	rest = s.bytes(state, p.indexes)
	return p.limited(rest, state), rest
}

// weigh estimates the work of the read at the apiserver, as the length of a response, and reports whether
// it is little.
func (p *plan) weigh(state *cache.Snapshot) (bytes int64, small bool) {
	bytes = p.selection.bytes(state, p.indexes)
	limit := p.options.Limit
	return p.limited(bytes, state), bytes <= smallBytes || limit > 0 && limit <= smallPage
}

// limited returns the bytes that the limit of a page permits, of an estimate of all.
func (p *plan) limited(bytes int64, state *cache.Snapshot) int64 {
	limit, each := p.options.Limit, averageBytes(state)
	if limit > 0 && each > 0 && limit < bytes/each { // a client chooses the limit: no product of others
		return limit * each
	}
	return bytes
}

// scanBytes is how many bytes of a response cost the apiserver as much as an object that it reads for a
// selector that does not match.
const scanBytes = 24

// bytes estimates the stored bytes of the objects that a read selects, from the average object, and what
// the apiserver reads besides. The indexes that it needs are kept in a budget.
func (s *selection) bytes(state *cache.Snapshot, indexes *tree.Budget) int64 {
	switch {
	case s.indexed != nil:
		return int64(state.CountByIndex(*s.indexed, s.keys)) * averageBytes(state)
	case s.terms.Empty():
		return storedBytes(state, s.keys)
	}
	var selected int64
	for run := range state.Select(s.terms, s.keys, indexes) {
		selected += int64(run.Len())
	}
	return selected*averageBytes(state) + int64(state.Count(s.keys))*scanBytes
}

// storedBytes estimates the stored bytes of the objects in a range from the average object.
func storedBytes(state *cache.Snapshot, keys tree.Range) int64 {
	return state.Bytes() * int64(state.Count(keys)) / int64(max(state.Len(), 1))
}

// examined estimates the stored bytes of the objects that must be looked at to show a state; 0 without one.
func (p *plan) examined(state *cache.Snapshot) int64 {
	switch {
	case state == nil:
		return 0
	case p.selection.filter == nil:
		return p.limited(storedBytes(state, p.selection.keys), state)
	case p.selection.indexed != nil:
		return p.selection.bytes(state, p.indexes)
	}
	return storedBytes(state, p.selection.keys) // a page ends after some that match
}

// averageBytes returns the stored bytes of an average object.
func averageBytes(state *cache.Snapshot) int64 { return state.Bytes() / int64(max(state.Len(), 1)) }
