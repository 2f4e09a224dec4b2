package fence

import (
	"cmp"
	"context"
	"time"

	"sluice/cache"
)

const (
	// mendAfter is how long readers wait in recover before an inventory is taken for them: the proofs that
	// cost less come within this time or are not likely to come.
	mendAfter = 500 * time.Millisecond
	// eventGrace is how long the events may take that the store lacks of an inventory, before a list
	// replaces the store. A stream that is late by more would make each reader wait for that long.
	eventGrace = 2 * time.Second
	// mendRetry is the least time between an inventory for readers that wait in recover which has failed, and
	// the next one.
	mendRetry = time.Second
)

// recovery serves the reads whose proof has not come.
type recovery struct {
	*base
	*inventories
	*probes
	*proofs

	// mu guards these.
	stalled    bool // a caller has given up, and no proof has succeeded since
	recovering int  // readers that wait in recover
}

// recover is Prove for a read whose proof has not come and that does not pass. The version that it needs does not
// change however long the read waits: it must not have to wait for ever newer events.
//
// All reads that wait share one inventory, which need not be cheap. If the store lacks events of it that do not
// come, the fence calls diverged with ErrHeldBack.
func (f *recovery) recover(ctx context.Context, n Need) (a Answer, err error) {
	if a.Version, err = f.versionFor(ctx, Need{Current: cmp.Or(n.Version, n.Current), Patient: true}); err != nil {
		return a, err
	}
	f.mu.Lock()
	f.recovering++
	f.mu.Unlock()
	f.worker.want(mending)
	a.Proof, err = f.confirm(ctx, a.Version)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recovering--
	f.stalled = f.stalled && err != nil
	return a, err
}

// recovers reports whether a reader waits in recover.
func (f *recovery) recovers() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.recovering > 0
}

// mend takes an inventory, or has the store replaced, as long as readers wait in recover. It takes at most
// half of the time.
func (f *recovery) mend(ctx context.Context) {
	for idle := mendAfter; ; {
		pause(ctx, idle)
		if ctx.Err() != nil || !f.recovers() {
			return
		}
		if !f.worker.claim(listing) {
			idle = mendAfter
			continue
		}
		start := time.Now()
		version, err := f.takeInventory(ctx, max(inventoryTimeout, 12*f.nextInventoryWork()))
		idle = max(mendAfter, time.Since(start))
		switch {
		case err != nil:
			idle = max(idle, mendRetry, retryDelay(err))
		default:
			brief, cancel := context.WithTimeout(ctx, eventGrace)
			_, err := f.confirm(brief, version)
			cancel()
			if err != nil && f.recovers() && ctx.Err() == nil {
				f.report(cache.ErrHeldBack)
				return
			}
		}
	}
}

// retryInterval is the time until the first attempt to end a stall.
const retryInterval = time.Second

// giveUp records that a read has waited in vain as long as it could: the next one would probably wait in vain too.
func (f *recovery) giveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stalled = true
	f.worker.want(reviving)
}

// endStall goes on to wait for a proof, on behalf of the read that has given up.
func (f *recovery) endStall(ctx context.Context) {
	for delay := retryInterval; ctx.Err() == nil; delay = min(2*delay, stallRetry) {
		version, err := f.currentVersion(ctx)
		if err == nil {
			_, err = f.confirm(ctx, version)
		}
		if err == nil {
			f.mu.Lock()
			f.stalled = false
			f.mu.Unlock()
			return
		}
		pause(ctx, delay)
	}
}
