package fence

import (
	"context"
	"time"
)

// stallRetry is the longest time between two attempts to end a stall.
const stallRetry = 30 * time.Second

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
