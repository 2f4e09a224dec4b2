package resources

import (
	"sync"
	"time"

	"sluice/cache"
	"sluice/codec"
)

// CachedResource is a store in sync and what has to be known to serve it.
type CachedResource struct {
	// ID is random: no collection of another store, here or elsewhere, ever
	// had it.
	ID       string
	Store    *cache.Store
	Resource codec.Resource
	// Warnings are the values of the Warning headers that the upstream adds
	// to reads of this resource.
	Warnings []string
	// Fence proves that the store has reached the upstream's present.
	Fence *cache.Fence
	// ColumnsMatch is true if Resource.Columns, or the built-in columns where
	// these are nil, are the columns of the apiserver's Tables.
	ColumnsMatch bool
	// Encoders holds the encoders that package serve makes of Resource. All
	// CachedResources of one store share it, so that watches go on sharing
	// frames when columns change.
	Encoders *sync.Map

	adrift   func() time.Duration
	fields   *fields
	outdated chan struct{} // closed when Tables are printed otherwise
}

// ColumnsChanged returns a channel that is closed when another collection prints the
// Tables of the store: with other columns.
func (c *CachedResource) ColumnsChanged() <-chan struct{} { return c.outdated }

// reprint returns a collection of the same store that prints Tables with other
// columns.
func (c *CachedResource) reprint(columns codec.Columns, printable bool) *CachedResource {
	next := *c
	next.Resource.Columns, next.ColumnsMatch, next.outdated = columns, printable, make(chan struct{})
	return &next
}

// DisconnectedFor returns for how long the feed has been without a stream: about as old
// may the state be.
func (c *CachedResource) DisconnectedFor() time.Duration {
	if c.adrift == nil {
		return 0
	}
	return c.adrift()
}

// Field returns where the values of a field stand in the objects' Fields, and
// false if selectors cannot name it.
func (c *CachedResource) Field(label string) (position int, ok bool) { return c.fields.position(label) }

// Indexed reports whether the store is indexed by the field at that position.
func (c *CachedResource) Indexed(position int) bool {
	index := c.fields.index()
	return index != nil && *index == position
}
