package fence

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
)

// stateAt returns the state at exactly a version. It waits for the store's own watch as long as that may take,
// unless that is likely to be in vain. Then only an inventory of that version tells the state: no proof of a newer
// state tells the states before it.
func (f *inventories) stateAt(ctx context.Context, n Need) (*cache.Snapshot, error) {
	brief, cancel := context.WithTimeout(ctx, f.decide(Question{After: Known, Exactly: true}).For)
	defer cancel()
	state, err := f.waitAt(brief, n.Version)
	if errors.Is(err, context.DeadlineExceeded) {
		return f.confirmAt(ctx, n.Version, n.Rest)
	}
	return state, err
}

// confirmAt returns the state at exactly a version that the store has not reached, or ErrAhead if
// that is not known within about a second. The next page of a list whose first page came from the
// apiserver is such a read. An inventory of that version confirms that it is the present state,
// where that costs the apiserver less than the rest of the list, whose length in bytes includes the
// responses that probably follow.
func (f *inventories) confirmAt(ctx context.Context, version uint64, rest int64) (*cache.Snapshot, error) {
	if e := f.joinExact(version, rest); e.version == version {
		late := time.NewTimer(time.Until(e.began.Add(quickInventory)))
		defer late.Stop()
		select {
		case <-e.ended:
		case <-late.C: // it goes on for the pages that follow
		case <-f.store.Done():
		case <-ctx.Done():
		}
	}
	return f.store.At(version)
}

// joinExact returns the inventory of a version, or of another one if it is not taken. An inventory is taken once, and
// one at a time.
func (f *inventories) joinExact(version uint64, rest int64) exactInventory {
	next := f.decide(Question{After: Exact, Work: readWork(rest)}).Do
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.exact.version == version, f.exact.runs, time.Now().Before(f.exact.retryAt):
	case next == Forward:
	default:
		f.exact = exactInventory{version: version, runs: true, began: time.Now(), ended: make(chan struct{})}
		f.worker.want(listingAt)
	}
	return f.exact
}

// takeInventoryAt takes the inventory of an exact version and has the store compare it.
func (f *inventories) takeInventoryAt(ctx context.Context) {
	f.mu.Lock()
	e := f.exact
	f.mu.Unlock()
	defer close(e.ended)
	ctx, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	r, err := f.list(ctx, cache.Scope{}, e.version)
	if err == nil {
		_, err = f.store.ConfirmState(r)
		f.report(err)
	}
	_, unknown := f.store.At(e.version)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exact.runs = false
	now := time.Now()
	switch {
	case err != nil: // such as a version of the future
		f.exact.retryAt = now.Add(inventoryRetry)
	case unknown == nil && f.store.Streamed() < e.version:
		f.rising, f.risingAt, f.missedAt = true, now, now
	}
}
