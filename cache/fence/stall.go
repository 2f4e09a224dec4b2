package fence

import (
	"context"
	"time"
)

// retryInterval is the time until the first attempt to end a stall.
const retryInterval = time.Second

// giveUp records that a read has waited in vain as long as it could: the next one would probably wait in vain too.
func (f *Fence) giveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stalled = true
	wake(f.stallDue)
}

// endStall goes on to wait for a proof, on behalf of the read that has given up.
func (f *Fence) endStall(ctx context.Context) {
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
