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
	// bytesPerObject is the estimate of an object's share in the length of the first roll call. What
	// the last roll call has shown instead is halved each rollCallHalfLife, so that a resource whose
	// objects have become smaller is tried again.
	bytesPerObject   = 2 << 10
	rollCallHalfLife = time.Hour
	// rollCallRetry is how long no roll is called after one has failed.
	rollCallRetry = 10 * time.Second
	// quickRollCall is how long a roll call runs before a probe and probe watches start as well.
	quickRollCall = time.Second
)

// rollCallRecord is what a fence knows of its last roll call.
type rollCallRecord struct {
	perObject int64     // length of the response for each object; zero before the first one
	at        time.Time // when it ended
	retryAt   time.Time // after a failure
	pending   uint64    // its version, if the store differed
}

// rollCallBytes estimates the length of the next roll call.
func (f *Fence) rollCallBytes() int64 {
	f.mu.Lock()
	last := f.rollCall
	f.mu.Unlock()
	perObject := int64(bytesPerObject)
	if last.perObject > 0 {
		perObject = last.perObject >> min(time.Since(last.at)/rollCallHalfLife, 32)
	}
	return perObject * int64(max(f.store.Snapshot().Len(), 1))
}

// nextRollCallWork estimates what the next roll call costs the apiserver.
func (f *Fence) nextRollCallWork() time.Duration { return rollCallWork(f.rollCallBytes()) }

// canCallRoll reports whether roll calls succeed and are quick enough.
func (f *Fence) canCallRoll() bool {
	f.mu.Lock()
	retryAt := f.rollCall.retryAt
	f.mu.Unlock()
	return f.nextRollCallWork() <= quickWork && !time.Now().Before(retryAt)
}

// rollCallWait returns how long it takes until the roll may be called: not at all if that costs the
// apiserver less than the reads that are under way would.
func (f *Fence) rollCallWait() time.Duration {
	if f.pays(f.nextRollCallWork()) {
		return 0
	}
	return f.allowance.wait()
}

// MayCallRoll reports whether the roll may be called now.
func (f *Fence) MayCallRoll() bool { return f.canCallRoll() && f.rollCallWait() == 0 }

// callsRoll reports whether CurrentVersion calls the roll instead of probing.
func (f *Fence) callsRoll() bool {
	most := smallResource
	if f.Quiet() {
		most = quietResource
	}
	return f.store.Snapshot().Len() <= most && f.MayCallRoll()
}

// Quiet reports whether neither a probe nor the store's watch is likely to prove the newest state:
// resource versions rise, and no event has arrived lately, or since a read has waited for one in vain.
func (f *Fence) Quiet() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rising && (f.silent() || f.store.lastEvent().Before(f.missedAt))
}

// Silent is Quiet for want of any event lately. What rises the version is then probably another resource.
func (f *Fence) Silent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rising && f.silent()
}

// silent reports whether no event has arrived lately.
func (f *Fence) silent() bool { return time.Since(f.store.lastEvent()) >= quietAfter }

// rollCallPending reports whether the store differed from the last roll call and still does. The
// missing events are on their way then, so that another roll call would prove no more.
func (f *Fence) rollCallPending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.store.Snapshot().Reaches(f.rollCall.pending)
}

// errRollCallRuns is returned instead of a second roll call at the same time.
var errRollCallRuns = errors.New("another roll call runs")

// callRoll calls the roll and has the store compare it. The version of the list, which it returns, was
// current at some moment after the call, whatever the store holds.
func (f *Fence) callRoll(ctx context.Context, limit time.Duration) (version uint64, err error) {
	if !f.listing.TryLock() {
		return 0, errRollCallRuns
	}
	defer f.listing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause(ctx, time.Until(f.store.settled()))
	start, before, lent := time.Now(), f.store.Snapshot().Version, f.allowance.spent()
	r, err := f.prober.RollCall(ctx, Scope{}, 0)
	if err == nil {
		r.Asked = start
	}
	f.recordRollCall(r, err, time.Since(start), errors.Is(ctx.Err(), context.Canceled), lent)
	reached := false
	switch {
	case err != nil:
	case r.Version < before:
		err = behind(r.Version, before)
	default:
		reached, err = f.store.ConfirmState(r)
	}
	if errors.Is(err, ErrDiverged) {
		f.report(err)
	}
	if err != nil {
		return 0, err
	}
	if !reached {
		f.mu.Lock()
		f.rollCall.pending = r.Version
		f.mu.Unlock()
	}
	return r.Version, nil
}

// CallRollOf calls the roll of a scope, on behalf of one reader: see [Cursor.SkipToRollCall].
func (f *Fence) CallRollOf(ctx context.Context, scope Scope) (*RollCall, error) {
	pause(ctx, time.Until(f.store.settled()))
	start, before, lent := time.Now(), f.store.Snapshot().Version, f.allowance.spent()
	r, err := f.prober.RollCall(ctx, scope, 0)
	if err == nil {
		r.Asked = start
	}
	if err == nil && r.Version < before {
		err = behind(r.Version, before)
	}
	if errors.Is(err, ErrDiverged) {
		f.report(err)
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.RollCalls++
	f.spend(min(time.Since(start), rollCallWork(int64(r.Bytes))), int64(r.Bytes), lent)
	return r, nil
}

// recordRollCall records the cost of a roll call, also of one that failed or was canceled.
func (f *Fence) recordRollCall(r *RollCall, err error, took time.Duration, canceled, lent bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.RollCalls++
	var bytes int64
	switch {
	case err == nil:
		bytes = int64(r.Bytes)
		f.rollCall = rollCallRecord{perObject: int64(max(r.Bytes/max(len(r.entries), 1), 1)), at: time.Now()}
	case !canceled:
		f.rollCall.retryAt = time.Now().Add(rollCallRetry)
		fallthrough
	default:
		bytes = f.rollCall.perObject * int64(f.store.Snapshot().Len())
	}
	f.spend(min(took, rollCallWork(bytes)), bytes, lent)
}
