package resources

import (
	"strconv"
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

	adrift    func() time.Duration
	fields    *fields
	printable bool
	outdated  chan struct{} // closed when Tables are printed otherwise
	encoders  sync.Map      // codec.Format to *Encoder
}

// Encoder returns the encoder for a format, always the same one, so that its
// watchers share frames. It returns codec.ErrUnsupported if the stored bytes
// cannot be turned into that format exactly.
func (c *CachedResource) Encoder(f codec.Format) (*Encoder, error) {
	if e, ok := c.encoders.Load(f); ok {
		return e.(*Encoder), nil
	}
	if f.Shape == codec.Table && !c.printable {
		return nil, codec.ErrUnsupported
	}
	w, err := codec.NewWriter(&c.Resource, f)
	if err != nil {
		return nil, err
	}
	e, _ := c.encoders.LoadOrStore(f, &Encoder{Writer: w, resource: &c.Resource})
	return e.(*Encoder), nil
}

// ColumnsChanged returns a channel that is closed when another collection prints the
// Tables of the store: with other columns.
func (c *CachedResource) ColumnsChanged() <-chan struct{} { return c.outdated }

// reprint returns a collection of the same store that prints Tables with other
// columns. All other encoders are the same, and so is what they share.
func (c *CachedResource) reprint(columns codec.Columns, printable bool) *CachedResource {
	next := &CachedResource{
		ID: c.ID, Store: c.Store, Resource: c.Resource, Warnings: c.Warnings, Fence: c.Fence,
		adrift: c.adrift, fields: c.fields, printable: printable, outdated: make(chan struct{}),
	}
	next.Resource.Columns = columns
	c.encoders.Range(func(f, encoder any) bool {
		if f.(codec.Format).Shape != codec.Table {
			next.encoders.Store(f, encoder)
		}
		return true
	})
	return next
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

// Encoder writes the objects of one collection in one format.
type Encoder struct {
	*codec.Writer
	resource *codec.Resource
}

// AppendEvent implements cache.Encoder.
func (e *Encoder) AppendEvent(dst []byte, t cache.Type, o *cache.Object) ([]byte, error) {
	return e.Writer.AppendEvent(dst, t.String(), o.Data, false)
}

// AppendFirst appends the first event of a stream, which for Tables differs
// from others: it has the definitions of the columns.
func (e *Encoder) AppendFirst(dst []byte, t cache.Type, o *cache.Object) ([]byte, error) {
	return e.Writer.AppendEvent(dst, t.String(), o.Data, true)
}

// Shareable reports whether the frames of events are the same for all watchers
// at all times.
func (e *Encoder) Shareable() bool { return !e.Format().AgesWithTime() }

// Copies reports whether objects are written as they are stored.
func (e *Encoder) Copies() bool {
	f := e.Format()
	return f.Encoding == e.resource.Source && f.Shape == codec.Object && !f.Pretty && !f.Unmanaged
}

// AppendDeletedFromSelection implements cache.Encoder.
func (e *Encoder) AppendDeletedFromSelection(dst []byte, o *cache.Object, rv uint64) ([]byte, error) {
	departed, err := e.DeletedFromSelection(o, rv)
	if err != nil {
		return dst, err
	}
	return e.AppendEvent(dst, cache.Deleted, departed)
}

// DeletedFromSelection returns the object o as an event shows it that took it out of a
// selection at version rv: the content before, with that version.
func (e *Encoder) DeletedFromSelection(o *cache.Object, rv uint64) (*cache.Object, error) {
	data, err := e.resource.SetResourceVersion(nil, o.Data, strconv.FormatUint(rv, 10))
	return &cache.Object{Key: o.Key, RV: rv, Data: data}, err
}

var _ cache.Encoder = (*Encoder)(nil)
