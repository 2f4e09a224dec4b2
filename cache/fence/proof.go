package fence

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Proof is the way in which a state was confirmed to be recent enough.
type Proof uint8

const (
	// ByStream is a proof by the store's own watch: an event or a bookmark at or above the version.
	ByOwnWatch Proof = iota
	// BySecondWatch is a proof by a bookmark of a second, short watch.
	BySecondWatch
	// ByInventory is a proof by a list that names exactly the objects of the state.
	ByInventory
)

// String returns the proof as a metric label value.
func (p Proof) String() string {
	switch p {
	case BySecondWatch:
		return "probe-watch"
	case ByInventory:
		return "roll-call"
	}
	return "own-watch"
}

// ProofOf returns the proof of a version that the newest state has reached.
func (f *Fence) ProofOf(version uint64) Proof {
	if f.store.Streamed() < version {
		return ByInventory
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byWatch >= version {
		return BySecondWatch
	}
	return ByOwnWatch
}

// prove takes an inventory and, where that is not possible or of no avail, starts one second watch after
// the other, until no caller of Confirm waits for a proof.
func (f *Fence) prove(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var attempts sync.WaitGroup
	defer attempts.Wait()
	defer cancel()
	var called chan struct{} // closed when the inventory that runs has ended; nil if none does
	var calledAt time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		changed := f.store.Changed()
		idle, state, history := f.unproven()
		if !state && !history {
			return
		}
		wait, doubtful := time.Hour, f.store.Doubtful() // then the inventory of the writer is on its way
		if state && !doubtful && called == nil && f.canTakeInventory() && !f.inventoryPending() {
			if wait = f.inventoryWait(); wait == 0 {
				ended := make(chan struct{})
				called, calledAt = ended, time.Now()
				attempts.Go(func() {
					defer close(ended)
					if _, err := f.takeInventory(ctx, inventoryTimeout); errors.Is(err, errInventoryRuns) {
						pause(ctx, quickInventory) // after other errors, no inventory is taken for a while
					}
				})
			}
		}
		until := time.Until(calledAt.Add(quickInventory))
		if doubtful {
			until = wait
		} else if called == nil || history || until <= 0 {
			if until = f.secondWatchDue(); until == 0 {
				attempts.Go(func() { f.runSecondWatch(ctx) })
				until = secondWatchInterval
			}
		}
		timer.Reset(max(min(wait, until), time.Millisecond))
		select {
		case <-ctx.Done():
			return
		case <-idle:
			return
		case <-changed:
		case <-f.proofDue: // more callers
		case <-called:
			called = nil
		case <-timer.C:
		}
	}
}

// unproven reports whether a caller waits for a newer state, and for more of the history. idle is
// closed when no caller waits.
func (f *Fence) unproven() (idle <-chan struct{}, state, history bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idle, !f.store.Proves(f.awaited), !f.store.ProvesHistory(f.history)
}
