package fence

import (
	"context"
	"time"

	"sluice/cache"
)

const (
	// secondWatchInterval is the time between the starts of two second watches while a caller waits. An
	// apiserver sends bookmarks at moments of its own choice, and each second watch adds some (wire.md
	// 12).
	secondWatchInterval = 350 * time.Millisecond
	// A second watch is barren if it has run for barrenAfter without a bookmark. Each one in a row
	// doubles the interval, at most maxBarren times: an apiserver without watch cache of the
	// resource sends no bookmarks.
	barrenAfter = 2 * time.Second
	maxBarren   = 7
	// secondWatchLimit bounds a second watch, which waits for events that the store lacks while the store's
	// own watch is stalled. It is longer than the timeoutSeconds of the request.
	secondWatchLimit = 5 * time.Second
)

// runSecondWatch proves that the store is complete by the bookmarks of a second watch from the store's
// version: the apiserver has no event between the last one that this watch delivered and the
// bookmark behind it. Errors are ignored, because another second watch starts later.
func (f *proofs) runSecondWatch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, secondWatchLimit)
	defer cancel()
	start, bookmarks := time.Now(), 0
	proof := cache.Silence{Last: f.store.Streamed()}
	_ = f.apiserver.SecondWatch(ctx, proof.Last,
		func(version uint64) { proof.Last = max(proof.Last, version) },
		func(version uint64) {
			bookmarks++
			proof.Version = version
			f.applySilence(ctx, proof)
		})
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case bookmarks > 0:
		f.secondWatch.barren = 0
	case time.Since(start) >= barrenAfter || ctx.Err() == nil:
		f.secondWatch.barren = min(f.secondWatch.barren+1, maxBarren)
	}
}

// applySilence applies a proof as soon as the store has the events of the second watch, unless the store becomes
// doubtful before.
func (f *proofs) applySilence(ctx context.Context, proof cache.Silence) {
	var diverged error
	confirmed := func() (ok bool) {
		f.mu.Lock() // held until the proof is recorded: ConfirmComplete wakes readers that ask for it
		defer f.mu.Unlock()
		if ok, diverged = f.store.ConfirmComplete(proof); ok {
			f.byWatch = max(f.byWatch, proof.Version)
		}
		return ok || diverged != nil || f.store.Doubtful()
	}
	if f.waitUntil(ctx, confirmed) == nil {
		f.report(diverged)
	}
}
