package fence

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/cache"
)

// maxExactVersions bounds the versions whose reads a fence counts.
const maxExactVersions = 16

// stateAt returns the state at exactly a version. It waits for the store's own watch as long as that may take,
// unless that is likely to be in vain. Then only an inventory of that version tells the state: no proof of a newer
// state tells what came before it.
func (f *Fence) stateAt(ctx context.Context, n Need) (*cache.Snapshot, error) {
	brief, cancel := context.WithTimeout(ctx, f.decide(Question{After: Known, Exactly: true}).For)
	defer cancel()
	state, err := f.waitAt(brief, n.Version)
	if errors.Is(err, context.DeadlineExceeded) {
		return f.confirmAt(ctx, n.Version, n.Bytes, n.Rest)
	}
	return state, err
}

// confirmAt returns the state at exactly a version that the store has not reached, or ErrAhead if
// that is not known within about a second. The next page of a list whose first page came from the
// apiserver is such a read. An inventory of that version confirms that it is the present state,
// where that costs the apiserver less than the rest of the list. page is the length of the response
// in bytes; rest includes the responses that probably follow. An inventory is taken once for each
// version. It is charged to the allowance; if that is spent, reads of this version must have cost
// as much.
func (f *Fence) confirmAt(ctx context.Context, version uint64, page, rest int64) (*cache.Snapshot, error) {
	if v := f.joinExact(version, rest); v.taken != nil {
		late := time.NewTimer(time.Until(v.takenAt.Add(quickInventory)))
		defer late.Stop()
		v.shared.Join(ctx)
		select {
		case <-v.taken:
		case <-late.C: // it goes on for the pages that follow
		case <-f.store.Done():
		case <-ctx.Done():
		}
	}
	state, err := f.store.At(version)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.exactVersion(version).forwarded += readWork(page)
	}
	return state, err
}

// joinExact has the inventory of a version taken, unless that has been done or does not pay. It returns a copy of
// what is known of the version.
func (f *Fence) joinExact(version uint64, rest int64) exactVersion {
	facts := f.Facts()
	f.mu.Lock()
	defer f.mu.Unlock()
	v := f.exactVersion(version)
	switch {
	case v.taken != nil || f.exact.due != nil || time.Now().Before(f.exact.retryAt):
	case Next(Question{After: Exact, Work: readWork(rest), Spent: v.forwarded}, facts).Do == Forward:
	case f.store.Begun(version): // its deletions are on their way
	default:
		v.taken, v.takenAt, v.shared, f.exact.due = make(chan struct{}), time.Now(), f.share("inventory"), v
		f.worker.want(listingAt)
	}
	return *v
}

// failExact ends the inventory that Run will not take any more.
func (f *Fence) failExact() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v := f.exact.due; v != nil {
		v.shared.End()
		f.exact.due = nil
		close(v.taken)
	}
}

// exactVersion returns what is known of a version. The caller must hold mu.
func (f *Fence) exactVersion(version uint64) *exactVersion {
	all := f.exact.versions
	if i := slices.IndexFunc(all, func(v *exactVersion) bool { return v.version == version }); i >= 0 {
		return all[i]
	}
	if len(all) == maxExactVersions {
		all = slices.Delete(all, 0, 1)
	}
	v := &exactVersion{version: version}
	f.exact.versions = append(all, v)
	return v
}

// takeInventoryAt takes the inventory of the version that is due and has the store compare it.
func (f *Fence) takeInventoryAt(ctx context.Context) {
	f.mu.Lock()
	v := f.exact.due
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	start, uncharged, bytes := time.Now(), f.allowance.empty(), f.inventoryBytes()
	defer v.shared.End()
	r, err := f.apiserver.Inventory(ctx, cache.Scope{}, v.version)
	if err == nil {
		bytes = int64(r.Bytes)
		_, err = f.store.ConfirmState(r)
	}
	if errors.Is(err, cache.ErrDiverged) {
		f.report(err)
	}
	_, unknown := f.store.At(v.version)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Inventories++
	f.charge(min(time.Since(start), inventoryWork(bytes)), bytes, uncharged)
	now := time.Now()
	switch {
	case err != nil: // such as a version of the future
		f.exact.retryAt = now.Add(inventoryRetry)
	case unknown == nil && f.store.Streamed() < v.version:
		f.rising, f.risingAt, f.missedAt = true, now, now
	}
	f.exact.due = nil
	close(v.taken)
}
