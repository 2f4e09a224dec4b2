package codec

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/proto"
)

// The types of events.
const (
	EventAdded    = "ADDED"
	EventModified = "MODIFIED"
	EventDeleted  = "DELETED"
	EventBookmark = "BOOKMARK"
	EventError    = "ERROR"
)

// Writer writes the objects of one resource in one format. It is immutable and safe for concurrent use. Methods append to
// dst and return it; on an error dst comes back as long as it was.
//
// A list is AppendListHead, the items with Separator between them, AppendListTail.
type Writer struct {
	resource *Resource
	format   Format
	body     body
	layout   layout
	mark     marker
}

// NewWriter returns the Writer for r in f. ErrUnsupported means that the conversion cannot be exact, and the request must
// be passed upstream: Protobuf of what is stored as JSON and CBOR of what is compiled in but stored as JSON (but for
// metadata), Tables in Protobuf or CBOR, kinds without a plan.
func NewWriter(r *Resource, f Format) (*Writer, error) {
	b, err := newBody(r, f)
	if err != nil {
		return nil, fmt.Errorf("write %s %s as %s %s: %w", r.APIVersion(), r.Resource, f.Encoding, f.Shape, err)
	}
	w := &Writer{resource: r, format: f, body: b}
	if w.mark, err = newMarker(r); err != nil {
		return nil, fmt.Errorf("bookmarks of %s %s: %w", r.APIVersion(), r.Resource, err)
	}
	w.layout = newLayout(b, r, f)
	return w, nil
}

// newLayout returns the framing of f's encoding.
func newLayout(b body, r *Resource, f Format) layout {
	plain := jsonLayout{body: b, list: newCollection(r, f)}
	switch {
	case f.Encoding == Protobuf:
		return newProtoLayout(b, r, f)
	case f.Encoding == CBOR:
		return &cborLayout{b, plain.list}
	case f.Encoding == YAML:
		return &yamlLayout{b, plain.list}
	case f.Pretty:
		return &prettyLayout{plain}
	}
	return &plain
}

// At returns a Writer that tells ages as of now; without it, Tables tell them as of the moment of writing.
func (w *Writer) At(now time.Time) *Writer {
	t, ok := w.body.(tableBody)
	if !ok {
		return w
	}
	t.now = now
	out := *w
	out.body = t
	out.layout = newLayout(t, w.resource, w.format)
	return &out
}

// Format returns what the Writer writes.
func (w *Writer) Format() Format { return w.format }

// ContentType returns the Content-Type of a watch stream, or of anything else.
func (w *Writer) ContentType(watch bool) string { return w.format.ContentType(watch) }

// Sorted says that the rows of a list must be put in the order of the columns' own comparison, so that the items of a
// list cannot be written in the order in which they are stored. The caller passes such lists upstream.
func (w *Writer) Sorted() bool {
	t, ok := w.body.(tableBody)
	return ok && t.columns.Sorted()
}

// AppendObject appends the response to a GET.
func (w *Writer) AppendObject(dst, src []byte) ([]byte, error) {
	return w.layout.appendObject(dst, src)
}

// AppendItem appends one item of a list.
func (w *Writer) AppendItem(dst, src []byte) ([]byte, error) { return w.layout.appendItem(dst, src) }

// ItemSize returns the length of what AppendItem appends for src, where that can be told without doing it: in Protobuf out
// of Protobuf, whose list heads need the sum of all items.
func (w *Writer) ItemSize(src []byte) (n int, ok bool) {
	if w.format.Encoding != Protobuf || w.resource.Source != Protobuf {
		return 0, false
	}
	if w.format.Shape == Metadata {
		if src, _ = proto.PartialObjectMetadata(src); src == nil {
			return 0, false
		}
	}
	if n = len(src); w.format.Unmanaged {
		var err error
		if n, err = proto.SizeWithoutManagedFields(src); err != nil {
			return 0, false
		}
	}
	return proto.ItemSize(n), true
}

// Separator returns what stands between two items; it may be empty.
func (w *Writer) Separator() string { return w.layout.separator() }

// AppendListHead appends what precedes the first of n items. size is the length of all items as AppendItem wrote them,
// in bytes; it counts only in Protobuf, whose head must tell it.
func (w *Writer) AppendListHead(dst []byte, meta metav1.ListMeta, n, size int) []byte {
	return w.layout.appendHead(dst, w.metaOf(&meta), n, size)
}

// AppendListTail appends what follows the last of n items.
func (w *Writer) AppendListTail(dst []byte, meta metav1.ListMeta, n int) []byte {
	return w.layout.appendTail(dst, w.metaOf(&meta), n)
}

// metaOf leaves out of a list's metadata what its shape does not tell.
func (w *Writer) metaOf(meta *metav1.ListMeta) *metav1.ListMeta {
	if w.format.Shape != Object {
		meta.ShardInfo = nil
	}
	return meta
}

// AppendEvent appends a watch event of type typ. first says that it is the first event of its stream: only that one
// carries the definitions of a Table's columns, so for Tables events must not be shared between first and others.
func (w *Writer) AppendEvent(dst []byte, typ string, src []byte, first bool) ([]byte, error) {
	return w.layout.appendEvent(dst, typ, src, w.body, first)
}

// AppendErrorEvent appends an ERROR event. It carries the Status itself, also in Table and metadata streams.
func (w *Writer) AppendErrorEvent(dst []byte, s *metav1.Status) []byte {
	return w.layout.appendStatus(dst, completeStatus(s))
}
