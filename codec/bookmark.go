package codec

import (
	"slices"
	"strings"
)

// initialEventsEnd is the annotation of the bookmark that ends a stream's initial events; its value is "true".
const initialEventsEnd = "k8s.io/initial-events-end"

// AppendBookmark appends a BOOKMARK event at version rv: an object of the resource's kind with nothing but that, all other
// fields as an empty object prints them (wire.md 7.6). initialEnd marks the end of the initial events. first is as for
// AppendEvent.
func (w *Writer) AppendBookmark(dst []byte, rv string, initialEnd, first bool) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = w.mark(s.b[:0], rv, initialEnd); err != nil {
		return dst, err
	}
	return w.layout.appendEvent(dst, EventBookmark, s.b, w.markBody(initialEnd), first)
}

// markBody is the way of a bookmark: that of any object, except that the one that ends the initial events keeps its
// object in the row of a Table without objects, for its annotation.
func (w *Writer) markBody(initialEnd bool) body {
	if t, ok := w.body.(tableBody); ok && initialEnd && t.include == IncludeNone {
		t.include = IncludeMetadata
		return t
	}
	return w.body
}

// marker appends a bookmark's object in a resource's stored encoding.
type marker func(dst []byte, rv string, initialEnd bool) ([]byte, error)

// newMarker returns how bookmarks of r are made.
func newMarker(r *Resource) (marker, error) {
	switch {
	case r.Source == Protobuf:
		return protoMarker(r)
	case r.Style == Unstructured:
		return customMarker(r.APIVersion(), r.Kind), nil
	case r.Bookmark == nil:
		return noMarker, nil
	}
	return templateMarker(r.Bookmark)
}

func noMarker(dst []byte, _ string, _ bool) ([]byte, error) { return dst, ErrTemplate }

// annotation is one entry of a bookmark's annotations.
type annotation struct{ key, value string }

// annotations returns the entries of a bookmark that has others of its own, sorted by key.
func annotations(others []annotation, initialEnd bool) []annotation {
	if !initialEnd {
		return others
	}
	out := append(slices.Clone(others), annotation{initialEventsEnd, "true"})
	slices.SortFunc(out, func(a, b annotation) int { return strings.Compare(a.key, b.key) })
	return out
}
