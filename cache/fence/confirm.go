package fence

import (
	"context"
	"sync"
	"time"
)

// proofs have the apiserver confirm the versions that reads wait for.
type proofs struct {
	*base
	*inventories

	// mu guards these.
	waiters     int    // how many wait for a proof
	awaited     uint64 // the highest version that they wait for
	byWatch     uint64 // the highest version that a second watch has confirmed
	secondWatch secondWatchSchedule
}

// confirm is waitFor that also has the apiserver confirm the state. It returns the proof that came
// first.
func (f *proofs) confirm(ctx context.Context, version uint64) (Proof, error) {
	if f.store.Proves(version) {
		return f.proofOf(version), nil
	}
	defer f.enter(version)()
	if err := f.waitFor(ctx, version); err != nil {
		return "", err
	}
	return f.proofOf(version), nil
}

// enter counts a read that waits for a state at version. leave ends that.
func (f *proofs) enter(version uint64) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiters++
	f.awaited = max(f.awaited, version)
	f.worker.want(proving)
	f.wakeProving()
	return f.leave
}

func (f *proofs) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiters--; f.waiters == 0 {
		f.awaited = 0
		f.wakeProving()
	}
}

// proofOf returns the proof of a version that the newest state has reached.
func (f *proofs) proofOf(version uint64) Proof {
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

// prove carries out the decisions of Next, until no read waits for a proof.
func (f *proofs) prove(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var attempts sync.WaitGroup
	defer attempts.Wait()
	defer cancel()
	for ctx.Err() == nil {
		changed := f.store.Changed()
		if !f.unproven() {
			return
		}
		q := Question{After: Confirms}
		q.RunningFor, q.Running = f.worker.runs(listing)
		switch next := f.decide(q); {
		case next.Do == TakeInventory:
			if f.worker.claim(listing) {
				attempts.Go(func() { _, _ = f.takeInventory(ctx, inventoryTimeout) }) // after an error others are tried
			}
		case next.Do == OpenSecondWatch:
			f.mu.Lock()
			f.secondWatch.next = time.Now().Add(secondWatchInterval << f.secondWatch.barren)
			f.mu.Unlock()
			attempts.Go(func() { f.runSecondWatch(ctx) })
		default:
			timer := time.NewTimer(max(next.For, time.Millisecond))
			select {
			case <-ctx.Done():
			case <-changed:
			case <-f.waitersChanged:
			case <-timer.C:
			}
			timer.Stop()
		}
	}
}

// unproven reports whether a read waits for a newer state.
func (f *proofs) unproven() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiters > 0 && !f.store.Proves(f.awaited)
}
