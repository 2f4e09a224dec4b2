package serve

import (
	"context"
	"time"

	"sluice/cache"
)

const (
	// ownWatchWait is how long a read waits for an event or bookmark on the watch of the store
	// before a small one passes. On a busy resource that is enough.
	ownWatchWait = 15 * time.Millisecond
	// proofLimit is how long a read waits for a proof altogether: as long as the apiserver waits for
	// its own watch cache (wire.md 11).
	proofLimit = 3 * time.Second
	// A read is small if it is a page of up to smallPage objects or if about smallBytes of stored
	// objects answer it. Such a read costs the apiserver little.
	smallPage  = 500
	smallBytes = 1 << 20
)

// ensureFresh waits until the store has reached a version that may answer the read, and returns why
// that is known. A consistent read needs the version that the apiserver was at some time after the
// call. With passSmall, a small read passes instead of waiting for a probe watch.
func (p *plan) ensureFresh(ctx context.Context, passSmall bool) (hitReason, error) {
	store := p.resource.Store
	if p.match != matchMostRecent && store.Snapshot().Version >= p.version {
		return anyVersion, nil
	}
	ctx, cancel := context.WithTimeout(ctx, proofLimit)
	defer cancel()
	current, err := p.resource.Fence.CurrentVersion(ctx)
	version := p.version
	switch {
	case err != nil:
		return "", notProvenInTime
	case version > current:
		return "", versionNotReached // the apiserver waits for it, or refuses
	case p.match == matchMostRecent:
		version = current
	}
	if store.Snapshot().Version >= version {
		return upToDate, nil
	}
	return p.prove(ctx, version, passSmall)
}

// prove waits for a proof that the store is complete up to version, a cheap one first.
func (p *plan) prove(ctx context.Context, version uint64, passSmall bool) (hitReason, error) {
	if p.waitFor(ctx, version, ownWatchWait) {
		return hitReason(cache.ByStream.String()), nil
	}
	if passSmall && p.selection.shards == nil && p.small(p.resource.Store.Snapshot()) {
		return "", smallRead
	}
	proof, err := p.resource.Fence.Confirm(ctx, version)
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

func (p *plan) small(state *cache.Snapshot) bool {
	if limit := p.options.Limit; limit > 0 && limit <= smallPage {
		return true
	}
	return storedBytes(state, p.selection.keys) <= smallBytes
}

// storedBytes estimates the stored bytes of the objects in a range from the average object.
func storedBytes(state *cache.Snapshot, keys cache.Range) int64 {
	return state.Bytes() * int64(state.Count(keys)) / int64(max(state.Len(), 1))
}
