package cache

import (
	"errors"
	"fmt"
	"iter"
	"sort"
	"time"

	"sluice/cache/tree"
)

// Inventory is a consistent list of a resource, or of a scope, read for keys and resource versions only.
// If it names exactly the keys and resource versions of a state, then that state is the apiserver's at the version of the list,
// whatever events are still on their way to the store: an object that was created and deleted in
// between leaves no trace in a state.
type Inventory struct {
	Asked   time.Time // before the list was asked for
	Version uint64    // of the list
	Bytes   int       // length of the response
	Scope   Scope     // what is listed

	entries []inventoryEntry // in strictly ascending order of keys
}

type inventoryEntry struct {
	key     tree.Key
	version uint64
}

var errInventoryOrder = errors.New("keys of a list are not in ascending order")

// Add adds the next object of the list. It returns an error unless keys come in ascending order, as
// in every list.
func (r *Inventory) Add(k tree.Key, version uint64) error {
	if n := len(r.entries); n > 0 && r.entries[n-1].key >= k {
		return fmt.Errorf("%s after %s: %w", k, r.entries[n-1].key, errInventoryOrder)
	}
	r.entries = append(r.entries, inventoryEntry{k, version})
	return nil
}

// Len returns the number of the listed objects.
func (r *Inventory) Len() int { return len(r.entries) }

// versionOf returns the resource version of an object, 0 if the list does not have it.
func (r *Inventory) versionOf(k tree.Key) uint64 {
	i := sort.Search(len(r.entries), func(i int) bool { return r.entries[i].key >= k })
	if i < len(r.entries) && r.entries[i].key == k {
		return r.entries[i].version
	}
	return 0
}

// Matches reports whether a state has exactly the listed keys and resource versions.
func (r *Inventory) Matches(s *Snapshot) bool { return r.differences(s) == 0 }

// objects returns the objects of a state in the scope of the inventory, in ascending order of keys.
func (r *Inventory) objects(s *Snapshot) iter.Seq[*tree.Object] {
	if r.Scope.Indexed {
		return s.ByIndex(r.Scope.Value, tree.Range{})
	}
	return s.Objects(r.Scope.Range())
}

// differences returns the number of keys at which a state differs from the list.
func (r *Inventory) differences(s *Snapshot) (n int) {
	for range r.Differing(s) {
		n++
	}
	return n
}

// Differing yields the keys at which a state differs from the list, in ascending order.
func (r *Inventory) Differing(s *Snapshot) iter.Seq[tree.Key] {
	return func(yield func(tree.Key) bool) {
		rest := r.entries
		for o := range r.objects(s) {
			for len(rest) > 0 && rest[0].key < o.Key { // the state lacks these
				if !yield(rest[0].key) {
					return
				}
				rest = rest[1:]
			}
			listed := len(rest) > 0 && rest[0].key == o.Key
			if (!listed || rest[0].version != o.RV) && !yield(o.Key) {
				return
			}
			if listed {
				rest = rest[1:]
			}
		}
		for _, e := range rest {
			if !yield(e.key) {
				return
			}
		}
	}
}

// comparison is an inventory that the store compares with its state after each event, until they are
// equal or the store is complete up to the version of the inventory.
type comparison struct {
	inventory   *Inventory
	past        bool   // the state was complete up to the version of the inventory
	position    uint64 // of the newest event of the state
	differences int
}

// apply takes an event of the store into account.
func (c *comparison) apply(e *Event) {
	var before, after uint64
	if e.Previous != nil {
		before = e.Previous.RV
	}
	if e.Type != Deleted {
		after = e.Object.RV
	}
	switch want := c.inventory.versionOf(e.Object.Key); want {
	case before:
		c.differences++
	case after:
		c.differences--
	}
}
