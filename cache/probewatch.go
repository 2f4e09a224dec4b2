package cache

import (
	"context"
	"time"
)

const (
	// probeWatchInterval is the time between the starts of two probe watches while a caller waits. An
	// apiserver sends bookmarks at moments of its own choice, and each probe watch adds some (wire.md
	// 12).
	probeWatchInterval = 350 * time.Millisecond
	// A probe watch is barren if it has run for barrenAfter without a bookmark. Each one in a row
	// doubles the interval, at most maxBarren times: an apiserver without watch cache of the
	// resource sends no bookmarks.
	barrenAfter = 2 * time.Second
	maxBarren   = 7
	// probeWatchLimit bounds a probe watch, which waits for events that the store lacks while the store's
	// own watch is stalled. It is longer than the timeoutSeconds of the request.
	probeWatchLimit = 5 * time.Second
)

// probeWatchSchedule is when the next probe watch may start.
type probeWatchSchedule struct {
	next   time.Time
	barren int // probe watches in a row
}

// probeWatchDue returns 0 if a probe watch has to start now, which is then scheduled, or the time
// until it has to.
func (f *Fence) probeWatchDue() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if wait := f.probeWatch.next.Sub(now); wait > 0 {
		return wait
	}
	f.probeWatch.next = now.Add(probeWatchInterval << f.probeWatch.barren)
	f.stats.ProbeWatches++
	return 0
}

// runProbeWatch proves that the store is complete by the bookmarks of a second watch from the store's
// version: the apiserver has no event between the last one that this watch delivered and the
// bookmark behind it. Errors are ignored, because another probe watch starts later.
func (f *Fence) runProbeWatch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeWatchLimit)
	defer cancel()
	start, bookmarks := time.Now(), 0
	proof := Silence{Last: f.store.CompleteVersion()}
	_ = f.prober.ProbeWatch(ctx, proof.Last,
		func(version uint64) { proof.add(version) },
		func(version uint64) {
			bookmarks++
			proof.Version = version
			f.confirm(ctx, proof)
		})
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case bookmarks > 0:
		f.probeWatch.barren = 0
	case time.Since(start) >= barrenAfter || ctx.Err() == nil:
		f.probeWatch.barren = min(f.probeWatch.barren+1, maxBarren)
	}
}

// add counts an event of the watch.
func (p *Silence) add(version uint64) {
	if version > p.Last {
		p.Last, p.Events = version, 0
	}
	p.Events++
}

// confirm applies a proof as soon as the store has the events of the probe watch, unless the store becomes
// doubtful before.
func (f *Fence) confirm(ctx context.Context, proof Silence) {
	var diverged error
	confirmed := func() (ok bool) {
		f.mu.Lock() // held until the proof is recorded: ConfirmComplete wakes readers that ask for it
		defer f.mu.Unlock()
		if ok, diverged = f.store.ConfirmComplete(proof); ok {
			f.byWatch = max(f.byWatch, proof.Version)
		}
		return ok || diverged != nil || f.store.doubtful()
	}
	if f.waitUntil(ctx, confirmed) == nil && diverged != nil {
		f.report(diverged)
	}
}
