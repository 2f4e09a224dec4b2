package encode

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/utils/lru"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/table"
	"sluice/proxy/resources"
)

// Format writes the objects of one cached resource in one format. The cache memoizes frames by
// the identity of their encoder, so every watch of a store in one format must use the same one.
type Format struct {
	*codec.Writer
	resource *codec.Resource
	now      func() time.Time // as of which ages are
	failed   atomic.Bool      // an object cannot be written, so that reads in this format pass
}

// ErrUnencodable is returned for an object that cannot be written in a format.
var ErrUnencodable = errors.New("object cannot be written")

// formatKey identifies a Format among those of a store.
type formatKey struct {
	format  codec.Format
	columns *table.Columns // of Tables; nil for other shapes, which survive a change of columns
}

// FormatFor returns the Format of c for a format, the same one on each call. It returns
// codec.ErrUnsupported if the stored bytes cannot be turned into that format exactly, or could not
// for one object since the store was filled.
func FormatFor(c *resources.CachedResource, f codec.Format) (*Format, error) {
	key := formatKey{format: f}
	if f.Shape == codec.Table {
		key.columns = c.Resource.Columns
	}
	if f.Projection != "" {
		return projected(c, key)
	}
	if v, ok := c.Encoders.Load(key); ok {
		return v.(*Format).usable()
	}
	e, err := newFormat(c, f)
	if err != nil {
		return nil, err
	}
	v, _ := c.Encoders.LoadOrStore(key, e)
	return v.(*Format), nil
}

// maxProjected bounds the Formats of a store with projections, which clients make up.
const maxProjected = 64

// projectedKey is the key of the cache of Formats with projections.
type projectedKey struct{}

// projected is FormatFor for a format with a projection. The least used one is replaced.
func projected(c *resources.CachedResource, key formatKey) (*Format, error) {
	v, ok := c.Encoders.Load(projectedKey{})
	if !ok {
		v, _ = c.Encoders.LoadOrStore(projectedKey{}, lru.New(maxProjected))
	}
	if e, ok := v.(*lru.Cache).Get(key); ok {
		return e.(*Format).usable()
	}
	e, err := newFormat(c, key.format)
	if err != nil {
		return nil, err
	}
	v.(*lru.Cache).Add(key, e)
	return e, nil
}

// pinned is the memory of the schema of a projection, of about 512 bytes for each byte of its text. A memo counts all of
// it, because it keeps a Format that the cache of Formats has replaced.
func (e *Format) pinned() int64 { return 512 * int64(len(e.Format().Projection)) }

func newFormat(c *resources.CachedResource, f codec.Format) (*Format, error) {
	e := &Format{resource: &c.Resource, now: c.Now}
	if e.now == nil {
		e.now = time.Now
	}
	var err error
	if e.Writer, err = codec.NewWriter(&c.Resource, f); err != nil {
		return nil, err
	}
	return e, nil
}

// usable returns the Format, or codec.ErrUnsupported if an object could not be written.
func (e *Format) usable() (*Format, error) {
	if e.failed.Load() {
		return nil, codec.ErrUnsupported
	}
	return e, nil
}

// check returns nil or an ErrUnencodable for the error of writing an object, after which reads in this
// format pass until the store is rebuilt: else every repeated read would fail at the same object.
func (e *Format) check(err error) error {
	if err == nil {
		return nil
	}
	e.failed.Store(true)
	return fmt.Errorf("%w: %w", ErrUnencodable, err)
}

// AppendObject appends the object of a get, with its ages as of now.
func (e *Format) AppendObject(dst, data []byte) ([]byte, error) {
	dst, err := e.At(e.now()).AppendObject(dst, data)
	return dst, e.check(err)
}

// AppendEvent implements cache.Encoder.
func (e *Format) AppendEvent(dst []byte, t cache.Type, o *tree.Object) ([]byte, error) {
	return e.AppendEventOf(dst, t, o, false)
}

// AppendEventOf appends an event. In a Table format only the first event of a watch carries the column definitions.
func (e *Format) AppendEventOf(dst []byte, t cache.Type, o *tree.Object, first bool) ([]byte, error) {
	dst, err := e.At(e.now()).AppendEvent(dst, t.String(), o.Data, first)
	return dst, e.check(err)
}

// Omits implements cache.QuietEncoder: a quiet watch omits a modification that leaves its projection as it was.
func (e *Format) Omits(before, after *tree.Object) (bool, error) {
	if !e.Format().Quiet {
		return false, nil
	}
	data, err := e.resource.SetResourceVersion(nil, before.Data, strconv.FormatUint(after.RV, 10))
	if err != nil {
		return false, e.check(err)
	}
	was, err := e.Writer.AppendObject(nil, data)
	if err != nil {
		return false, e.check(err)
	}
	is, err := e.Writer.AppendObject(nil, after.Data)
	return bytes.Equal(was, is), e.check(err)
}

// Shareable reports whether an event has the same bytes for every watch at any time.
func (e *Format) Shareable() bool { return !e.Format().AgesWithTime() }

// Memoizable reports whether the bytes of an object, or all of them but the ages, stay the same.
func (e *Format) Memoizable() bool { return e.Shareable() || e.Format().AgesApart() }

// Copies reports whether objects are written as they are stored.
func (e *Format) Copies() bool {
	f := e.Format()
	return f.Encoding == e.resource.Source && f.Shape == codec.Object && !f.Pretty && f.Projection == "" && !e.resource.WholeFloats
}

// Verbatim reports whether the items of lists are the stored bytes.
func (e *Format) Verbatim() bool {
	return e.Copies() && e.Format().Encoding == codec.JSON && e.resource.Style == codec.Unstructured
}

// DeletedFromSelection implements cache.Encoder.
func (e *Format) DeletedFromSelection(o *tree.Object, rv uint64) (*tree.Object, error) {
	data, err := e.resource.SetResourceVersion(nil, o.Data, strconv.FormatUint(rv, 10))
	return &tree.Object{Key: o.Key, RV: rv, Data: data}, e.check(err)
}

var _ cache.QuietEncoder = (*Format)(nil)
