package codec

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/codec/bookmark"
	"sluice/codec/framing"
	"sluice/codec/proto"
	"sluice/codec/table"
)

// Writer writes the objects of one resource in one format. It is immutable and safe for concurrent use.
// Methods append to dst and return it; on an error dst comes back as long as it was.
//
// A list is AppendListHead, the items with Separator between them, AppendListTail.
type Writer struct {
	resource *Resource
	format   Format
	encoder  objectEncoder
	whole    objectEncoder // of bookmarks, whose annotation no projection may leave out
	framing  framing.Framing
	bookmark bookmark.Encoder
}

// NewWriter returns the Writer for r in f. The error is ErrUnsupported if the conversion cannot be exact,
// so that the request must be passed upstream:
//
//   - Protobuf and CBOR of a typed resource stored as JSON, except for its metadata,
//   - Protobuf of custom resources, except for their metadata,
//   - Tables in Protobuf or CBOR, or without columns,
//   - kinds that are stored as Protobuf and have no schema here.
//
// It is a proto.FieldError if the kind does not have a field of the projection.
func NewWriter(r *Resource, f Format) (*Writer, error) {
	e, err := newObjectEncoder(r, f)
	if err != nil {
		return nil, fmt.Errorf("write %s %s as %s %s: %w", r.APIVersion(), r.Resource, f.Encoding, f.Shape, err)
	}
	b, err := newBookmarkEncoder(r)
	if err != nil {
		return nil, fmt.Errorf("bookmarks of %s %s: %w", r.APIVersion(), r.Resource, err)
	}
	around, err := newFraming(r, f)
	if err != nil {
		return nil, fmt.Errorf("lists of %s %s as %s %s: %w", r.APIVersion(), r.Resource, f.Encoding, f.Shape, err)
	}
	w := &Writer{resource: r, format: f, encoder: e, whole: e, framing: around, bookmark: b}
	if f.Partial() {
		f.Projection = ""
		if w.whole, err = newObjectEncoder(r, f); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func newBookmarkEncoder(r *Resource) (bookmark.Encoder, error) {
	switch {
	case r.Source == Protobuf:
		return bookmark.Protobuf(r.APIVersion(), r.Kind), nil
	case r.Style == Unstructured:
		return bookmark.Unstructured(r.APIVersion(), r.Kind), nil
	}
	return bookmark.Typed(r.Bookmark)
}

// At returns a Writer that computes the ages in Tables as of now. Without it they are computed as of the
// moment of writing.
func (w *Writer) At(now time.Time) *Writer {
	t, ok := w.encoder.(tableEncoder)
	if !ok {
		return w
	}
	t.now = now
	out := *w
	out.encoder, out.whole = t, t
	return &out
}

// Ageless returns a Writer whose AppendItem and AppendEvent leave out the ages in Tables and append their
// places to ages, as offsets in the result: together a table.Text. The format must have AgesApart. After an
// error ages is invalid.
func (w *Writer) Ageless(ages *[]table.Age) *Writer {
	t := w.encoder.(tableEncoder)
	t.ages = ages
	out := *w
	out.encoder = t
	return &out
}

// Format returns the format that the Writer writes.
func (w *Writer) Format() Format { return w.format }

// ContentType returns the Content-Type of a watch stream, or of a single body.
func (w *Writer) ContentType(watch bool) string { return w.format.ContentType(watch) }

// Sorted reports whether the rows of a list have an order of their own, so that the items cannot be
// written in the order in which they are stored. Such lists must be passed upstream.
func (w *Writer) Sorted() bool {
	t, ok := w.encoder.(tableEncoder)
	return ok && t.columns.Sorted()
}

// AppendObject appends the response to a get.
func (w *Writer) AppendObject(dst, src []byte) ([]byte, error) {
	out, err := w.framing.AppendObject(dst, src, w.encoder)
	return orUnchanged(dst, out, err)
}

// orUnchanged returns out, or after an error dst as it was.
func orUnchanged(dst, out []byte, err error) ([]byte, error) {
	if err != nil {
		return dst, err
	}
	return out, nil
}

// AppendItem appends one item of a list.
func (w *Writer) AppendItem(dst, src []byte) ([]byte, error) {
	out, err := w.framing.AppendItem(dst, src, w.encoder)
	return orUnchanged(dst, out, err)
}

// ItemSize returns the number of bytes that AppendItem appends for src, and false if that is unknown without
// encoding. It is known for Protobuf stored as Protobuf, whose lists need the size of all items first.
func (w *Writer) ItemSize(src []byte) (n int, ok bool) {
	if w.format.Encoding != Protobuf || w.resource.Source != Protobuf || w.format.Projection != "" {
		return 0, false
	}
	if w.format.Shape == Metadata {
		if conversion(w.resource) != "" {
			return 0, false
		}
		if src, _ = proto.PartialObjectMetadata(src); src == nil {
			return 0, false
		}
	}
	return proto.ItemSize(len(src)), true
}

// Separator returns the separator of two items; it may be empty.
func (w *Writer) Separator() string { return w.framing.Separator() }

// AppendListHead appends the beginning of a list of n items. size is the number of bytes of all items as
// AppendItem appended them; only Protobuf, whose envelope contains it, uses it. Tables omit the
// shardInfo of meta, and up to Kubernetes 1.37 lists of metadata and of custom resources do (KEP-5866).
func (w *Writer) AppendListHead(dst []byte, meta metav1.ListMeta, n, size int) []byte {
	return w.framing.AppendListHead(dst, w.listMeta(&meta), n, size)
}

// AppendListTail appends the end of a list of n items.
func (w *Writer) AppendListTail(dst []byte, meta metav1.ListMeta, n int) []byte {
	return w.framing.AppendListTail(dst, w.listMeta(&meta), n)
}

func (w *Writer) listMeta(meta *metav1.ListMeta) *metav1.ListMeta {
	everywhere := w.format.Shape == Object && w.resource.Style == Typed || w.resource.ShardInfo
	if w.format.Shape == Table || !everywhere {
		meta.ShardInfo = nil
	}
	return meta
}

// AppendEvent appends a watch event of type typ. first says that it is the first event of its stream: only
// that one carries the column definitions of a Table, so events of Tables must not be shared between
// first and later ones. YAML has no events.
func (w *Writer) AppendEvent(dst []byte, typ string, src []byte, first bool) ([]byte, error) {
	out, err := w.framing.AppendEvent(dst, typ, src, w.encoder, first)
	return orUnchanged(dst, out, err)
}

// AppendBookmark appends a BOOKMARK event with the resource version rv. Its object is the zero object of
// the kind with that version (wire.md 7.6). initialEventsEnd adds the annotation that ends the initial
// events. first is as for AppendEvent. The error is bookmark.ErrNoTemplate if the Resource needs a
// Bookmark and has none.
func (w *Writer) AppendBookmark(dst []byte, rv string, initialEventsEnd, first bool) ([]byte, error) {
	object, err := w.bookmark(nil, rv, initialEventsEnd)
	if err != nil {
		return dst, err
	}
	e := w.whole
	// This bookmark keeps its object in a Table without objects, for the annotation.
	if t, ok := e.(tableEncoder); ok && initialEventsEnd && t.include == IncludeNone {
		t.include = IncludeMetadata
		e = t
	}
	out, err := w.framing.AppendEvent(dst, string(watch.Bookmark), object, e, first)
	return orUnchanged(dst, out, err)
}

// AppendErrorEvent appends an ERROR event. Its object is the Status, in Tables and metadata too.
func (w *Writer) AppendErrorEvent(dst []byte, s *metav1.Status) []byte {
	return w.framing.AppendErrorEvent(dst, completeStatus(s))
}
