package cache

import (
	"context"
	"sync"
	"time"
)

// Proof is the way in which a store was confirmed to be complete up to a version.
type Proof uint8

const (
	// ByStream is a proof by the store's own watch: an event or a bookmark at or above the version.
	ByStream Proof = iota
	// ByProbeWatch is a proof by a bookmark of a second, short watch.
	ByProbeWatch

	proofCount
)

// String returns the proof as a metric label value.
func (p Proof) String() string {
	if p == ByProbeWatch {
		return "probe-watch"
	}
	return "own-watch"
}

// probeWatchInterval is the time between the starts of two probe watches while a caller waits. An
// apiserver sends bookmarks at moments of its own choice, and each probe watch adds some (wire.md
// 12).
const probeWatchInterval = 350 * time.Millisecond

// prove starts one attempt after the other until no caller of Confirm waits.
func (f *Fence) prove(ctx context.Context) {
	f.mu.Lock()
	idle := f.idle
	f.mu.Unlock()
	if idle == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var attempts sync.WaitGroup
	defer attempts.Wait()
	defer cancel()
	t := time.NewTicker(probeWatchInterval)
	defer t.Stop()
	for {
		attempts.Go(func() { f.probeWatch(ctx) })
		select {
		case <-ctx.Done():
			return
		case <-idle:
			return
		case <-t.C:
		}
	}
}

// probeWatch proves that the store is complete by the bookmarks of a second watch from the store's
// version: the apiserver has no event between the last one that this watch delivered and the
// bookmark behind it. Errors are ignored, because another probe watch starts after
// probeWatchInterval.
func (f *Fence) probeWatch(ctx context.Context) {
	last := f.store.Snapshot().Version
	_ = f.prober.ProbeWatch(ctx, last,
		func(version uint64) { last = version },
		func(version uint64) { f.confirm(ctx, ByProbeWatch, last, version) })
}

// confirm applies the proof that the apiserver has no event in (last, version], as soon as the
// store is complete up to last.
func (f *Fence) confirm(ctx context.Context, by Proof, last, version uint64) {
	if f.WaitFor(ctx, last) != nil {
		return
	}
	f.mu.Lock() // held until the proof is recorded: ConfirmComplete wakes readers that ask for it
	defer f.mu.Unlock()
	if f.store.ConfirmComplete(last, version) {
		f.confirmed[by] = max(f.confirmed[by], version)
	}
}

// proofOf returns the proof of a version that the store has reached.
func (f *Fence) proofOf(version uint64) Proof {
	f.mu.Lock()
	defer f.mu.Unlock()
	for by := ByStream + 1; by < proofCount; by++ {
		if f.confirmed[by] >= version {
			return by
		}
	}
	return ByStream
}
