package cache

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"sluice/cache/tree"
)

// maxConfirmed bounds the confirmed states of a store. Readers of older ones, such as the next page
// of a list, must ask the apiserver. The states share everything that no event has changed.
const maxConfirmed = 4096

// ledger keeps the proven versions of a store. Its store's mutex guards it.
//
//	version   7      8          11         14         17          20
//	          event  event      bookmark   confirmed  confirmed   inventory that still differs
//	                 newest     delivered  state      state
//	          every event is known  --->|  states are known, events may be missing
//
// These always hold:
//   - newest <= delivered: the store's own watch has delivered both, in order;
//   - the history is complete up to delivered, or further if a second watch has proven that nothing follows;
//   - confirmed states are above the version up to which the history is complete, in ascending order, each
//     version once, maxConfirmed at most;
//   - compared differs from the present state, and the history is not complete up to its version.
type ledger struct {
	delivered uint64           // resource version of the newest event or bookmark
	newest    uint64           // resource version of the newest event
	newestKey tree.Key         // its key
	deletion  bool             // the newest event is a deletion
	confirmed []confirmedState // states that inventories have shown to be the apiserver's
	compared  *comparison      // with the newest inventory; nil if there is nothing to compare
	doubted   time.Time        // when a doubt began or ended, or a watch was resumed in doubt
	resumed   bool             // the watch is open

	trusted atomic.Uint64 // no version above it is proven: see Writer.Doubt; read without the mutex
	changed notifier      // broadcasts when the version rises, when more is proven, and when the store ends
}

// confirmedState is a state that an inventory has shown to be the apiserver's at a version which the
// store's own watch has not reached. It says nothing about the events up to that version.
type confirmedState struct {
	Snapshot
	position uint64 // of the store's newest event at that time
}

// repeats reports whether e is a deletion that was applied before the watch was resumed.
func (l *ledger) repeats(e *Event) bool {
	return e.Type == Deleted && e.Previous == nil && e.RV == l.newest
}

// follows reports whether e may be the next event of a store that shows a version. The keys that one etcd
// transaction changes share a resource version.
func (l *ledger) follows(e *Event, version uint64) bool {
	return e.RV > version || e.RV == version && version == l.newest && e.Object.Key != l.newestKey
}

// event records the next event.
func (l *ledger) event(e *Event) {
	e.shares = e.RV == l.newest
	l.newest, l.newestKey, l.delivered = e.RV, e.Object.Key, e.RV
	l.deletion = e.Type == Deleted
}

// bookmark records a bookmark.
func (l *ledger) bookmark(version uint64) error {
	if version < l.delivered {
		return fmt.Errorf("bookmark %d after %d: %w", version, l.delivered, ErrDiverged)
	}
	l.delivered = version
	return nil
}

// resume returns the version from which a new watch delivers all events that may be missing.
func (l *ledger) resume() uint64 {
	if l.deletion && l.delivered == l.newest {
		return l.delivered - 1
	}
	return l.delivered
}

// search returns the index of the state that was confirmed at version, or where it would be.
func (l *ledger) search(version uint64) (i int, found bool) {
	return slices.BinarySearchFunc(l.confirmed, version, func(c confirmedState, v uint64) int { return cmp.Compare(c.Version, v) })
}

// confirm adds a state, unless one of its version is there.
func (l *ledger) confirm(c confirmedState) bool {
	i, known := l.search(c.Version)
	if known {
		return false
	}
	l.confirmed = slices.Insert(l.confirmed, i, c)
	if len(l.confirmed) > maxConfirmed {
		l.confirmed = slices.Delete(l.confirmed, 0, 1)
	}
	return true
}

// drop removes the confirmed states that the history covers, which is complete up to version.
func (l *ledger) drop(version uint64) {
	i, found := l.search(version)
	if found {
		i++
	}
	if i > 0 {
		l.confirmed = slices.Delete(l.confirmed, 0, i)
	}
}

// at returns the state that was confirmed at version, or ErrAhead.
func (l *ledger) at(version uint64) (*Snapshot, error) {
	i, found := l.search(version)
	if !found {
		return nil, ErrAhead
	}
	return &Snapshot{Version: version, state: l.confirmed[i].state}, nil
}

// last returns the confirmed state of the highest version, nil if there is none.
func (l *ledger) last() *confirmedState {
	if len(l.confirmed) == 0 {
		return nil
	}
	return &l.confirmed[len(l.confirmed)-1]
}

// trust records that no version above the given one is proven.
func (l *ledger) trust(version uint64, resumed bool) {
	l.doubted, l.resumed = time.Now(), resumed
	l.trusted.Store(version)
	l.changed.broadcast()
}

// trustInventory records in a time of doubt that the state equals an inventory.
func (l *ledger) trustInventory(r *Inventory) {
	version := r.Version
	if l.resumed {
		version = math.MaxUint64
	}
	if version > l.trusted.Load() && !r.Asked.Before(l.doubted) {
		l.trusted.Store(version)
		l.changed.broadcast()
	}
}

// verdict returns an error if a state that has every event up to the version of an inventory differs
// from the list. It judges nothing at the version of a deletion: others may follow at this version.
func (l *ledger) verdict(c *comparison, h *history) error {
	version := c.inventory.Version
	if c.differences == 0 {
		l.trustInventory(c.inventory)
		return nil
	}
	if h.deletes(version) {
		return nil
	}
	return fmt.Errorf("%d objects differ from the apiserver's at version %d: %w", c.differences, version, ErrDiverged)
}

// contradiction returns an error if the store differs from its newest inventory and has, or is about
// to have, every event up to version; if the store is right, it drops the inventory.
func (l *ledger) contradiction(version uint64, h *history) error {
	if l.compared == nil || version < l.compared.inventory.Version {
		return nil
	}
	err := l.verdict(l.compared, h)
	if err == nil {
		l.compared = nil
	}
	return err
}
