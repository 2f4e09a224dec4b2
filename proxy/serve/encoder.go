package serve

import (
	"strconv"

	"sluice/cache"
	"sluice/codec"
	"sluice/proxy/resources"
)

// formatEncoder writes the objects of one cached resource in one format. The cache memoizes frames by
// the identity of their encoder, so every watch of a store in one format must use the same one.
type formatEncoder struct {
	*codec.Writer
	resource *codec.Resource
}

// encoderKey identifies a formatEncoder among those of a store.
type encoderKey struct {
	format  codec.Format
	columns codec.Columns // of Tables; nil for other shapes, which survive a change of columns
}

// encoderFor returns the formatEncoder of c for a format, the same one on each call. It returns
// codec.ErrUnsupported if the stored bytes cannot be turned into that format exactly.
func encoderFor(c *resources.CachedResource, f codec.Format) (*formatEncoder, error) {
	key := encoderKey{format: f}
	if f.Shape == codec.Table {
		if !c.ColumnsMatch {
			return nil, codec.ErrUnsupported
		}
		key.columns = c.Resource.Columns
	}
	if e, ok := c.Encoders.Load(key); ok {
		return e.(*formatEncoder), nil
	}
	w, err := codec.NewWriter(&c.Resource, f)
	if err != nil {
		return nil, err
	}
	e, _ := c.Encoders.LoadOrStore(key, &formatEncoder{Writer: w, resource: &c.Resource})
	return e.(*formatEncoder), nil
}

// AppendEvent implements cache.Encoder.
func (e *formatEncoder) AppendEvent(dst []byte, t cache.Type, o *cache.Object) ([]byte, error) {
	return e.Writer.AppendEvent(dst, t.String(), o.Data, false)
}

// AppendFirst appends the first event of a watch. In a Table format only this event carries the
// column definitions.
func (e *formatEncoder) AppendFirst(dst []byte, t cache.Type, o *cache.Object) ([]byte, error) {
	return e.Writer.AppendEvent(dst, t.String(), o.Data, true)
}

// Shareable reports whether an event has the same bytes for every watch at any time.
func (e *formatEncoder) Shareable() bool { return !e.Format().AgesWithTime() }

// Copies reports whether objects are written as they are stored.
func (e *formatEncoder) Copies() bool {
	f := e.Format()
	return f.Encoding == e.resource.Source && f.Shape == codec.Object && !f.Pretty && !f.Unmanaged
}

// AppendDeletedFromSelection implements cache.Encoder.
func (e *formatEncoder) AppendDeletedFromSelection(dst []byte, o *cache.Object, rv uint64) ([]byte, error) {
	deleted, err := e.DeletedFromSelection(o, rv)
	if err != nil {
		return dst, err
	}
	return e.AppendEvent(dst, cache.Deleted, deleted)
}

// DeletedFromSelection returns the object of the DELETED event that a selecting watch receives when
// the event at rv takes o out of its selection: the content before the event, with rv.
func (e *formatEncoder) DeletedFromSelection(o *cache.Object, rv uint64) (*cache.Object, error) {
	data, err := e.resource.SetResourceVersion(nil, o.Data, strconv.FormatUint(rv, 10))
	return &cache.Object{Key: o.Key, RV: rv, Data: data}, err
}

var _ cache.Encoder = (*formatEncoder)(nil)
