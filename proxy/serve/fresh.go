package serve

import (
	"context"
	"time"

	"sluice/cache"
)

const (
	// naturalWait is how long a read waits for the store's own stream before
	// it is delegated: on a busy resource that is enough.
	naturalWait = 15 * time.Millisecond
	// proofLimit is how long a read waits for any proof, as long as the
	// apiserver waits for its own cache (wire.md 11).
	proofLimit = 3 * time.Second
	// What the apiserver answers at little cost is delegated: a page, or no
	// more than this many bytes.
	smallPage  = 500
	smallBytes = 1 << 20
)

// freshen makes sure that the store is complete up to version, or for zero up
// to the upstream's present of some moment after the call. It returns how that
// was proven, or the reason why the read has to be passed.
func (p *plan) freshen(ctx context.Context, version uint64, delegate bool) (how, reason string) {
	store, fence := p.collection.Store, p.collection.Fence
	if version != 0 && store.Snapshot().Version >= version {
		return servedFresh, ""
	}
	ctx, cancel := context.WithTimeout(ctx, proofLimit)
	defer cancel()
	present, err := fence.CurrentVersion(ctx)
	switch {
	case err != nil:
		return "", reasonUnproven
	case version > present:
		return "", reasonAhead // the upstream waits, or refuses
	case version == 0:
		version = present
	}
	if store.Snapshot().Version >= version {
		return servedFresh, ""
	}
	if p.reach(ctx, version) {
		return servedWaited, ""
	}
	if delegate && p.selection.shards == "" && p.small(store.Snapshot()) {
		return "", reasonDelegated
	}
	switch proof, err := fence.Confirm(ctx, version); {
	case err != nil:
		return "", reasonUnproven
	case proof == cache.ByProbeWatch:
		return servedChased, ""
	}
	return servedWaited, ""
}

// reach reports whether the store's own stream reaches version within naturalWait.
func (p *plan) reach(ctx context.Context, version uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, naturalWait)
	defer cancel()
	return p.collection.Fence.WaitFor(ctx, version) == nil
}

// small reports whether the answer costs the upstream little.
func (p *plan) small(state *cache.Snapshot) bool {
	if limit := p.options.Limit; limit > 0 && limit <= smallPage {
		return true
	}
	n := state.Len()
	if n == 0 {
		return true
	}
	return state.Bytes()/int64(n)*int64(state.Count(p.selection.keys)) <= smallBytes
}
