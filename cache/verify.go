package cache

import (
	"context"
	"errors"
	"time"
)

const (
	// verifyLimit is how long verify waits for the state of a roll call. The store compares it whenever
	// its watch gets there.
	verifyLimit = 10 * time.Second
	// verifyAttempts bounds the roll calls of one verify: where none succeeds, a later comparison of
	// all objects has to find a difference.
	verifyAttempts = 3
	// stallRetry is the longest time between two attempts to end a stall.
	stallRetry = 30 * time.Second
)

// Verify has the store compared with the apiserver soon, by a roll call: its watch has been resumed, and
// meanwhile etcd may have been restored from a backup and have passed the store's version. The fence
// calls diverged if the store differs.
func (f *Fence) Verify() { wake(f.verifyDue) }

// verify calls the roll as soon as the allowance permits, however large the resource is.
func (f *Fence) verify(ctx context.Context) {
	for range verifyAttempts {
		pause(ctx, f.allowance.wait())
		version, err := f.callRoll(ctx, max(rollCallTimeout, 12*f.nextRollCallWork()))
		if err == nil {
			f.compareAt(ctx, version)
		}
		if err == nil || errors.Is(err, ErrDiverged) {
			return
		}
		pause(ctx, rollCallRetry)
	}
}

// compareAt waits until the store is at the version of a roll call, or for a while: the comparison stays
// due.
func (f *Fence) compareAt(ctx context.Context, version uint64) {
	ctx, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	_, _ = f.Confirm(ctx, version)
}

// GiveUp records that a caller of Confirm or WaitUntilCurrent has waited in vain as long as it could.
func (f *Fence) GiveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stalled = true
	wake(f.stallDue)
}

// Stalled reports whether a caller has given up and no proof has succeeded since. The next one would
// probably wait in vain too.
func (f *Fence) Stalled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stalled
}

// endStall goes on to wait for a proof, on behalf of the caller that has given up.
func (f *Fence) endStall(ctx context.Context) {
	for delay := retryInterval; ctx.Err() == nil; delay = min(2*delay, stallRetry) {
		version, err := f.CurrentVersion(ctx)
		if err == nil {
			_, err = f.Confirm(ctx, version)
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
