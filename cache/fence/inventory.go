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
	// bytesPerObject is the estimate of an object's share in the length of the first inventory. The
	// figure of the last inventory is halved each inventoryHalfLife, so that a resource whose
	// objects have become smaller is tried again.
	bytesPerObject    = 2 << 10
	inventoryHalfLife = time.Hour
	// inventoryRetry is how long no inventory is taken after one has failed.
	inventoryRetry = 10 * time.Second
	// quickInventory is how long an inventory runs before a probe and second watches start as well.
	quickInventory = time.Second
)

// inventories are the lists of keys and resource versions that a fence takes.
type inventories struct {
	*base

	// mu guards these.
	inventory inventoryRecord
	exact     exactInventory // the last one
}

// list takes the inventory of a scope: of the present state, or of the state at exactly a version that is not 0. It
// charges its cost, also if it fails.
func (f *inventories) list(ctx context.Context, scope cache.Scope, version uint64) (*cache.Inventory, error) {
	start, before, uncharged := time.Now(), f.store.Snapshot().Version, f.allowance.empty()
	r, err := f.apiserver.Inventory(ctx, scope, version)
	var bytes int64
	switch {
	case err == nil, r != nil && r.Bytes > 0:
		bytes = int64(r.Bytes)
	case scope == (cache.Scope{}):
		bytes = f.inventoryBytes()
	}
	f.mu.Lock()
	f.charge(min(time.Since(start), inventoryWork(bytes)), bytes, uncharged)
	f.mu.Unlock()
	switch {
	case err != nil || version > 0:
	case r.Version < before:
		err = cache.Behind(r.Version, before)
	default:
		r.Asked = start
	}
	f.report(err)
	return r, err
}

// takeInventory takes an inventory, for which the caller must have claimed listing, and has the store compare it. The
// version of the list, which it returns, was current at some moment after the call, whatever the store holds.
func (f *inventories) takeInventory(ctx context.Context, limit time.Duration) (version uint64, err error) {
	defer f.wakeProving()
	defer f.worker.end(listing)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := f.list(ctx, cache.Scope{}, 0)
	f.mu.Lock()
	switch now := time.Now(); {
	case err == nil:
		f.inventory = inventoryRecord{perObject: perObject(r), at: now}
	case !errors.Is(ctx.Err(), context.Canceled):
		f.inventory.retryAt = now.Add(inventoryRetry)
		if ctx.Err() != nil && r != nil && r.Len() > 0 { // objects that are too long for one inventory are so for the next
			f.inventory.perObject, f.inventory.at = perObject(r), now
		}
	}
	f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	reached, err := f.store.ConfirmState(r)
	f.report(err)
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

// perObject returns an object's share in the length of an inventory.
func perObject(r *cache.Inventory) int64 { return int64(max(r.Bytes/max(r.Len(), 1), 1)) }

// inventoryBytes estimates the length of the next inventory.
func (f *inventories) inventoryBytes() int64 {
	f.mu.Lock()
	last := f.inventory
	f.mu.Unlock()
	perObject := int64(bytesPerObject)
	if last.perObject > 0 {
		perObject = last.perObject >> min(time.Since(last.at)/inventoryHalfLife, 32)
	}
	return perObject * int64(max(f.store.Snapshot().Len(), 1))
}

// nextInventoryWork estimates the cost of the next inventory at the apiserver.
func (f *inventories) nextInventoryWork() time.Duration { return inventoryWork(f.inventoryBytes()) }
