package serve

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
)

const (
	// ownWatchWait is how long a read waits for an event or bookmark on the watch of the store before
	// it costs the apiserver more. On a busy resource that is enough.
	ownWatchWait = 15 * time.Millisecond
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
// cheapest proof that is fast enough comes first. With passSmall, a small read that is alone passes
// where the roll of its resource would cost the apiserver more.
func (p *plan) ensureFresh(ctx context.Context, passSmall bool) (hitReason, error) {
	store := p.resource.Store
	if p.match != matchMostRecent && store.Snapshot().Version >= p.version {
		return anyVersion, nil
	}
	reason, err := p.prove(ctx, passSmall && p.selection.shards == nil && p.small(store.Snapshot()))
	if err != nil {
		if pass, ok := errors.AsType[passReason](err); ok {
			p.metrics.proven(string(pass))
		}
		return "", err
	}
	p.metrics.proven(string(reason))
	return reason, nil
}

// prove is ensureFresh for a read that needs a proof.
func (p *plan) prove(ctx context.Context, passSmall bool) (hitReason, error) {
	store, fence := p.resource.Store, p.resource.Fence
	if passSmall && !fence.PrefersRollCall() {
		if done, ok := fence.Delegate(p.size(store.Snapshot())); ok {
			return "", delegation{done}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, proofLimit)
	defer cancel()
	current, err := fence.CurrentVersion(ctx)
	version := p.version
	switch {
	case err != nil:
		return "", notProvenInTime
	case version > current:
		return "", versionNotReached // the apiserver waits for it, or refuses
	case p.match == matchMostRecent:
		version = current
	}
	if store.CompleteVersion() >= version {
		return upToDate, nil
	}
	return p.waitForProof(ctx, version, passSmall)
}

// waitForProof waits for a proof that the newest state is at version, a cheap one first.
func (p *plan) waitForProof(ctx context.Context, version uint64, passSmall bool) (hitReason, error) {
	fence := p.resource.Fence
	if p.waitFor(ctx, version, ownWatchWait) {
		return hitReason(fence.ProofOf(version).String()), nil
	}
	if passSmall {
		if done, ok := fence.Delegate(p.size(p.resource.Store.Snapshot())); ok {
			return "", delegation{done}
		}
	}
	proof, err := fence.Confirm(ctx, version)
	if err != nil {
		return "", notProvenInTime
	}
	return hitReason(proof.String()), nil
}

// waitFor reports whether the watch of the store reaches version within limit.
func (p *plan) waitFor(ctx context.Context, version uint64, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return p.resource.Fence.WaitFor(ctx, version) == nil
}

// past returns the state at exactly the version of the plan. A version that the store has not reached
// is waited for as long as the watch of the store may take: no proof of the newest state tells what
// came before it.
func (p *plan) past(ctx context.Context) (*cache.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, ownWatchWait)
	defer cancel()
	state, err := p.resource.Fence.WaitAt(ctx, p.version)
	switch {
	case err == nil:
		return state, nil
	case errors.Is(err, cache.ErrGone):
		return nil, versionBeforeHistory
	}
	return nil, versionNotReached
}

func (p *plan) small(state *cache.Snapshot) bool {
	if limit := p.options.Limit; limit > 0 && limit <= smallPage {
		return true
	}
	return storedBytes(state, p.selection.keys) <= smallBytes
}

// size estimates the length of a list in bytes.
func (p *plan) size(state *cache.Snapshot) int64 {
	size := storedBytes(state, p.selection.keys)
	if limit := p.options.Limit; limit > 0 {
		size = min(size, limit*state.Bytes()/int64(max(state.Len(), 1)))
	}
	return size
}

// storedBytes estimates the stored bytes of the objects in a range from the average object.
func storedBytes(state *cache.Snapshot, keys cache.Range) int64 {
	return state.Bytes() * int64(state.Count(keys)) / int64(max(state.Len(), 1))
}
