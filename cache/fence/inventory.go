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

// inventoryRecord is what a fence knows of its last inventory.
type inventoryRecord struct {
	perObject int64     // length of the response for each object; zero before the first one
	at        time.Time // when it ended
	retryAt   time.Time // after a failure
	pending   uint64    // its version, if the store differed
}

// inventoryBytes estimates the length of the next inventory.
func (f *Fence) inventoryBytes() int64 {
	f.mu.Lock()
	last := f.inventory
	f.mu.Unlock()
	perObject := int64(bytesPerObject)
	if last.perObject > 0 {
		perObject = last.perObject >> min(time.Since(last.at)/inventoryHalfLife, 32)
	}
	return perObject * int64(max(f.store.Snapshot().Len(), 1))
}

// nextInventoryWork estimates what the next inventory costs the apiserver.
func (f *Fence) nextInventoryWork() time.Duration { return inventoryWork(f.inventoryBytes()) }

// canTakeInventory reports whether inventories succeed and are quick enough.
func (f *Fence) canTakeInventory() bool {
	f.mu.Lock()
	retryAt := f.inventory.retryAt
	f.mu.Unlock()
	return f.nextInventoryWork() <= quickWork && !time.Now().Before(retryAt)
}

// inventoryWait returns how long it takes until an inventory may be taken: not at all if that costs the
// apiserver less than the reads that are under way would.
func (f *Fence) inventoryWait() time.Duration {
	if f.pays(f.nextInventoryWork()) {
		return 0
	}
	return f.allowance.wait()
}

// MayTakeInventory reports whether an inventory may be taken now.
func (f *Fence) MayTakeInventory() bool { return f.canTakeInventory() && f.inventoryWait() == 0 }

// takesInventory reports whether CurrentVersion takes an inventory instead of probing.
func (f *Fence) takesInventory() bool {
	most := smallResource
	if f.Quiet() {
		most = quietResource
	}
	return f.store.Snapshot().Len() <= most && f.MayTakeInventory()
}

// Quiet reports whether neither a probe nor the store's watch is likely to prove the newest state:
// resource versions rise, and no event has arrived lately, or since a read has waited for one in vain.
func (f *Fence) Quiet() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rising && (f.silent() || f.store.LastEvent().Before(f.missedAt))
}

// Silent is Quiet for want of any event lately. What rises the version is then probably another resource.
func (f *Fence) Silent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rising && f.silent()
}

// silent reports whether no event has arrived lately.
func (f *Fence) silent() bool { return time.Since(f.store.LastEvent()) >= quietAfter }

// inventoryPending reports whether the store differed from the last inventory and still does. The
// missing events are on their way then, so that another inventory would prove no more.
func (f *Fence) inventoryPending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.store.Snapshot().Reaches(f.inventory.pending)
}

// errInventoryRuns is returned instead of a second inventory at the same time.
var errInventoryRuns = errors.New("another inventory runs")

// takeInventory takes an inventory and has the store compare it. The version of the list, which it returns, was
// current at some moment after the call, whatever the store holds.
func (f *Fence) takeInventory(ctx context.Context, limit time.Duration) (version uint64, err error) {
	if !f.listing.TryLock() {
		return 0, errInventoryRuns
	}
	defer f.listing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause(ctx, time.Until(f.store.Settled()))
	start, before, uncharged := time.Now(), f.store.Snapshot().Version, f.allowance.empty()
	r, err := f.apiserver.Inventory(ctx, cache.Scope{}, 0)
	if err == nil {
		r.Asked = start
	}
	f.recordInventory(r, err, time.Since(start), errors.Is(ctx.Err(), context.Canceled), uncharged)
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

// InventoryOf takes the inventory of a scope, on behalf of one reader: see [cache.Cursor.SkipToInventory].
func (f *Fence) InventoryOf(ctx context.Context, scope cache.Scope) (*cache.Inventory, error) {
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
func (f *Fence) recordInventory(r *cache.Inventory, err error, took time.Duration, canceled, uncharged bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Inventories++
	var bytes int64
	switch {
	case err == nil:
		bytes = int64(r.Bytes)
		f.inventory = inventoryRecord{perObject: int64(max(r.Bytes/max(r.Len(), 1), 1)), at: time.Now()}
	case !canceled:
		f.inventory.retryAt = time.Now().Add(inventoryRetry)
		fallthrough
	default:
		bytes = f.inventory.perObject * int64(f.store.Snapshot().Len())
	}
	f.charge(min(took, inventoryWork(bytes)), bytes, uncharged)
}
