package fence

import (
	"context"
	"errors"
	"sync"
	"time"
)

// confirm is waitFor that also has the apiserver confirm the state. It returns the proof that came
// first.
func (f *Fence) confirm(ctx context.Context, version uint64) (Proof, error) {
	if !f.store.Proves(version) {
		defer f.enter(version, 0)()
	}
	if err := f.waitFor(ctx, version); err != nil {
		return "", err
	}
	return f.proofOf(version), nil
}

// confirmHistory is like confirm and waits until the history of the store is complete up to version,
// so that a watch may send a bookmark.
func (f *Fence) confirmHistory(ctx context.Context, version uint64) error {
	if !f.store.ProvesHistory(version) {
		defer f.enter(version, version)()
	}
	return f.waitUntil(ctx, func() bool { return f.store.ProvesHistory(version) })
}

// enter counts somebody who waits for a state at version, and for the history up to another. leave ends
// that.
func (f *Fence) enter(version, history uint64) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters++
	f.awaited, f.history = max(f.awaited, version), max(f.history, history)
	if f.waiters == 1 {
		f.idle = make(chan struct{})
	}
	wake(f.proofDue)
	return f.leave
}

func (f *Fence) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters--
	if f.waiters == 0 {
		close(f.idle)
		f.idle, f.awaited, f.history = nil, 0, 0
	}
}

// proofOf returns the proof of a version that the newest state has reached.
func (f *Fence) proofOf(version uint64) Proof {
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

// prove does what Next decides, until no caller of Confirm waits for a proof.
func (f *Fence) prove(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var attempts sync.WaitGroup
	defer attempts.Wait()
	defer cancel()
	var listed chan struct{} // closed when the inventory that runs has ended; nil if none does
	var listedAt time.Time
	for {
		changed := f.store.Changed()
		idle, state, history := f.unproven()
		if !state && !history {
			return
		}
		next := f.decide(Question{
			After: Confirms, State: state, History: history, Running: listed != nil, RunningFor: time.Since(listedAt),
		})
		switch next.Do {
		case TakeInventory:
			ended := make(chan struct{})
			listed, listedAt = ended, time.Now()
			attempts.Go(func() { f.inventoryFor(ctx, ended) })
			continue
		case OpenSecondWatch:
			f.scheduleSecondWatch()
			attempts.Go(func() { f.runSecondWatch(ctx) })
			continue
		}
		timer := time.NewTimer(max(next.For, time.Millisecond))
		select {
		case <-ctx.Done():
		case <-idle:
		case <-changed:
		case <-f.proofDue: // more callers
		case <-listed:
			listed = nil
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// inventoryFor takes an inventory for the callers of Confirm, and closes a channel when it has ended.
func (f *Fence) inventoryFor(ctx context.Context, ended chan struct{}) {
	defer close(ended)
	if _, err := f.takeInventory(ctx, inventoryTimeout); errors.Is(err, errInventoryRuns) {
		pause(ctx, quickInventory) // after other errors, no inventory is taken for a while
	}
}

// unproven reports whether a caller waits for a newer state, and for more of the history. idle is
// closed when no caller waits.
func (f *Fence) unproven() (idle <-chan struct{}, state, history bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idle, !f.store.Proves(f.awaited), !f.store.ProvesHistory(f.history)
}
