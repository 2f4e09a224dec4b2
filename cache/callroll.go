package cache

import (
	"context"
	"errors"
	"time"
)

const (
	// smallResource is how many objects a resource has at most whose roll is called instead of a
	// probe: the list then costs about as much, and proves more.
	smallResource = 500
	// quietResource is the same for a resource without an event for quietAfter while resource versions
	// rise: the probe would only show that the roll has to be called.
	quietResource = 5000
	quietAfter    = time.Second
	// bytesPerObject is the estimate of the length of the first roll call.
	bytesPerObject = 2 << 10
	// rollCallRetry is how long no roll is called after one has failed.
	rollCallRetry = 10 * time.Second
)

// rollCallRecord is what a fence knows of its last roll call.
type rollCallRecord struct {
	bytes   int64     // length of the response; zero before the first one
	retryAt time.Time // after a failure
	pending uint64    // its version, if the store differed
}

// affordsRollCall reports whether roll calls succeed and are within what the allowance ever covers.
func (f *Fence) affordsRollCall() bool {
	f.mu.Lock()
	last := f.rollCall
	f.mu.Unlock()
	if last.bytes == 0 {
		last.bytes = int64(f.store.Snapshot().Len()) * bytesPerObject
	}
	return f.allowance.covers(last.bytes) && !time.Now().Before(last.retryAt)
}

// PrefersRollCall reports whether the resource is so small that CurrentVersion calls the roll instead
// of probing: a consistent read then takes one round trip.
func (f *Fence) PrefersRollCall() bool { return f.callsRollUpTo(smallResource) }

func (f *Fence) callsRollUpTo(objects int) bool {
	return f.store.Snapshot().Len() <= objects && f.affordsRollCall() && f.allowance.wait() == 0
}

// quiet reports whether neither a probe nor the store's watch is likely to prove the newest state.
func (f *Fence) quiet() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rising && time.Since(time.Unix(0, f.store.eventAt.Load())) >= quietAfter
}

// rollCallPending reports whether the store differed from the last roll call and still does. The
// missing events are on their way then, so that another roll call would prove no more.
func (f *Fence) rollCallPending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.store.Snapshot().Version < f.rollCall.pending
}

// callRoll calls the roll and has the store compare it. The version of the list, which it returns, was
// current at some moment after the call, whatever the store holds.
func (f *Fence) callRoll(ctx context.Context) (version uint64, err error) {
	f.listing.Lock()
	defer f.listing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	start := time.Now()
	r, err := f.prober.RollCall(ctx)
	f.recordRollCall(r, err, time.Since(start), errors.Is(ctx.Err(), context.Canceled))
	if err != nil {
		return 0, err
	}
	if !f.store.ConfirmState(r) {
		f.mu.Lock()
		f.rollCall.pending = r.Version
		f.mu.Unlock()
	}
	return r.Version, nil
}

// recordRollCall charges the cost of a roll call, also of one that failed or was cancelled.
func (f *Fence) recordRollCall(r *RollCall, err error, took time.Duration, cancelled bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.RollCalls++
	switch {
	case err == nil:
		f.rollCall = rollCallRecord{bytes: int64(max(r.Bytes, 1))}
	case !cancelled:
		f.rollCall.retryAt = time.Now().Add(rollCallRetry)
	}
	f.stats.Seconds += f.allowance.charge(took, f.rollCall.bytes)
}
