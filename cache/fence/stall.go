package fence

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
)

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

// retryInterval is the time between the attempts of WaitUntilCurrent.
const retryInterval = time.Second

// WaitUntilCurrent waits, even if the apiserver is unreachable at first, until the newest state is at
// a version that was current at some moment after the call, and returns that version and the proof.
// It returns ErrClosed when the store has ended, or the context's error.
func (f *Fence) WaitUntilCurrent(ctx context.Context) (version uint64, proof Proof, err error) {
	for {
		if version, err = f.CurrentVersion(ctx); err == nil {
			proof, err = f.Confirm(ctx, version)
		}
		if err == nil || errors.Is(err, cache.ErrClosed) {
			return version, proof, err
		}
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-time.After(retryInterval):
		}
	}
}
