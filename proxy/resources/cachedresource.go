package resources

import (
	"sync"
	"time"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/proxy/discovery"
	"sluice/proxy/listwatch"
)

// CachedResource is a store in sync and the description by which it is served. It is immutable: when the
// store goes on with other printer columns, Lookup returns another CachedResource of the same store.
type CachedResource struct {
	*discovery.Description

	Store *cache.Store
	// Began is when the store began to be read: it shows everything that was committed by then.
	Began time.Time
	// Fence confirms that the store is complete up to the apiserver's current version.
	Fence *fence.Fence
	// Encoders holds the encoders of package serve. All CachedResources of one store share it, so
	// that watches go on sharing frames when columns change.
	Encoders *sync.Map

	// Now is the time by the apiserver's clock, as of which ages in Tables are; nil is time.Now.
	Now func() time.Time
	// StreamingLists reports whether the apiserver has streaming lists (KEP-3157).
	StreamingLists bool

	session        *listwatch.Session
	prehistory     *prehistory   // nil in tests of other packages
	entry          *entry        // nil in tests of other packages
	columnsChanged chan struct{} // closed when another CachedResource takes over with other columns
}

// ColumnsChanged returns a channel that is closed when the store goes on with other printer columns.
func (c *CachedResource) ColumnsChanged() <-chan struct{} { return c.columnsChanged }

// DisconnectedFor returns for how long the reflector has had no open watch. The state may lag behind
// the apiserver by about as much.
func (c *CachedResource) DisconnectedFor() time.Duration {
	if c.entry == nil {
		return 0
	}
	return c.entry.reflector.DisconnectedFor()
}

// fillsAgain reports whether the store must be filled again, because all of it may be by the CRD before.
func (c *CachedResource) fillsAgain() bool { return c.FillAgain.After(c.Began) }

// withDescription returns a CachedResource of the same store with another description.
func (c *CachedResource) withDescription(d *discovery.Description) *CachedResource {
	next := *c
	next.Description, next.columnsChanged = d, make(chan struct{})
	return &next
}

// Proven takes note that the store was proven to show everything that was committed by a time.
func (c *CachedResource) Proven(by time.Time) {
	if c.entry != nil {
		c.entry.prove(by)
	}
}

// LastProven returns the time by which everything committed is known to be in the store, by its fill, an event, a bookmark
// or a proof.
func (c *CachedResource) LastProven() time.Time {
	if c.entry == nil {
		return c.Began
	}
	return c.entry.lastProven()
}
