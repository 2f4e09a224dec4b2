package fence

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
)

const (
	// smallResource is how many objects a resource has at most of which an inventory is taken instead of a
	// probe: the list then costs about as much, and proves more.
	smallResource = 500
	// quietResource is the same for a resource without an event for quietAfter while resource versions
	// rise: the probe would only show that an inventory has to be taken.
	quietResource = 5000
	quietAfter    = time.Second
	// bytesPerObject is the estimate of an object's share in the length of the first inventory. What
	// the last inventory has shown instead is halved each inventoryHalfLife, so that a resource whose
	// objects have become smaller is tried again.
	bytesPerObject    = 2 << 10
	inventoryHalfLife = time.Hour
	// inventoryRetry is how long no inventory is taken after one has failed.
	inventoryRetry = 10 * time.Second
	// quickInventory is how long an inventory runs before a probe and second watches start as well.
	quickInventory = time.Second
)

// takeInventory takes an inventory, for which the caller must have claimed listing, and has the store compare it. The
// version of the list, which it returns, was current at some moment after the call, whatever the store holds.
func (f *Fence) takeInventory(ctx context.Context, limit time.Duration) (version uint64, err error) {
	defer f.wakeProving()
	defer f.worker.end(listing)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause(ctx, time.Until(f.store.Settled()))
	start, before, uncharged := time.Now(), f.store.Snapshot().Version, f.allowance.empty()
	shared := f.share("inventory")
	defer shared.End()
	shared.Join(ctx)
	r, err := f.apiserver.Inventory(shared.In(ctx), cache.Scope{}, 0)
	if err == nil {
		r.Asked = start
	}
	f.recordInventory(shared, r, err, time.Since(start), errors.Is(ctx.Err(), context.Canceled), uncharged)
	reached := false
	switch {
	case err != nil:
	case r.Version < before:
		err = cache.Behind(r.Version, before)
	default:
		reached, err = f.store.ConfirmState(r)
	}
	if errors.Is(err, cache.ErrDiverged) {
		f.report(err)
	}
	if err != nil {
		return 0, err
	}
	if !reached {
		f.mu.Lock()
		f.inventory.pending = r.Version
		f.mu.Unlock()
	}
	return r.Version, nil
}

// inventoryOf takes the inventory of a scope, on behalf of one reader: see [cache.Cursor.SkipToInventory].
func (f *Fence) inventoryOf(ctx context.Context, scope cache.Scope) (*cache.Inventory, error) {
	pause(ctx, time.Until(f.store.Settled()))
	start, before, uncharged := time.Now(), f.store.Snapshot().Version, f.allowance.empty()
	r, err := f.apiserver.Inventory(ctx, scope, 0)
	if err == nil {
		r.Asked = start
	}
	if err == nil && r.Version < before {
		err = cache.Behind(r.Version, before)
	}
	if errors.Is(err, cache.ErrDiverged) {
		f.report(err)
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Inventories++
	f.charge(min(time.Since(start), inventoryWork(int64(r.Bytes))), int64(r.Bytes), uncharged)
	return r, nil
}

// recordInventory records the cost of an inventory, also of one that failed or was canceled.
func (f *Fence) recordInventory(shared Shared, r *cache.Inventory, err error, took time.Duration, canceled, uncharged bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Inventories++
	var bytes int64
	switch {
	case err == nil:
		bytes = int64(r.Bytes)
		f.inventory = inventoryRecord{perObject: int64(max(r.Bytes/max(r.Len(), 1), 1)), at: time.Now(), shared: shared}
	case !canceled:
		f.inventory.retryAt = time.Now().Add(inventoryRetry)
		fallthrough
	default:
		bytes = f.inventory.perObject * int64(f.store.Snapshot().Len())
	}
	f.charge(min(took, inventoryWork(bytes)), bytes, uncharged)
}
