package codec

import (
	"bytes"

	"sluice/codec/json"
	"sluice/codec/proto"
)

// initialEventsEnd is the annotation of the bookmark that ends a stream's initial events.
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

// newMark returns how a bookmark is made in r's stored encoding.
func newMark(r *Resource) (func(dst []byte, rv string, initialEnd bool) ([]byte, error), error) {
	switch {
	case r.Source == Protobuf:
		p, _ := lookup(r.APIVersion(), r.Kind)
		if z, ok := p.(zeroPlan); ok {
			return protoMark(z.AppendZero(nil))
		}
		return protoMark(appendMarkMeta(nil, "", false)) // says the same to every reader
	case r.Style == Unstructured:
		return unstructuredMark(r.APIVersion(), r.Kind), nil
	case r.Bookmark == nil:
		return noMark, nil
	}
	return templateMark(r.Bookmark)
}

func noMark(dst []byte, _ string, _ bool) ([]byte, error) { return dst, ErrTemplate }

// protoMark makes bookmarks of a kind's zero message by giving it other metadata, which is its first field.
func protoMark(zero []byte) (func([]byte, string, bool) ([]byte, error), error) {
	meta, err := proto.MetadataOnly(zero)
	if err != nil || !bytes.HasPrefix(zero, meta) {
		return nil, ErrTemplate
	}
	rest := zero[len(meta):]
	return func(dst []byte, rv string, initialEnd bool) ([]byte, error) {
		return append(appendMarkMeta(dst, rv, initialEnd), rest...), nil
	}, nil
}

// appendMarkMeta appends field 1 of an object, its ObjectMeta, empty but for the version and the annotation.
func appendMarkMeta(dst []byte, rv string, initialEnd bool) []byte {
	s := getScratch()
	defer s.put()
	b := append(s.b[:0], 0x0a, 0, 0x12, 0, 0x1a, 0, 0x22, 0, 0x2a, 0) // name, generateName, namespace, selfLink, uid
	b = appendStringField(b, 6, rv)
	b = append(b, 0x38, 0, 0x42, 0) // generation, creationTimestamp
	if initialEnd {
		b = append(b, 0x62, byte(2+len(initialEventsEnd)+2+len("true"))) // annotations
		b = appendStringField(b, 1, initialEventsEnd)
		b = appendStringField(b, 2, "true")
	}
	s.b = b
	return appendBytesField(dst, 1, b)
}

// unstructuredMark makes bookmarks of custom resources: kind, apiVersion and metadata, sorted.
func unstructuredMark(apiVersion, kind string) func([]byte, string, bool) ([]byte, error) {
	head := json.AppendString([]byte(`{"apiVersion":`), apiVersion)
	head = append(head, `,"kind":`...)
	head = json.AppendString(head, kind)
	head = append(head, `,"metadata":{`...)
	return func(dst []byte, rv string, initialEnd bool) ([]byte, error) {
		dst = append(dst, head...)
		if initialEnd {
			dst = append(dst, `"annotations":{"k8s.io/initial-events-end":"true"},`...)
		}
		dst = append(dst, `"resourceVersion":`...)
		return append(json.AppendString(dst, rv), "}}"...), nil
	}
}

// templateMark makes bookmarks of one that the upstream sent: the same with other metadata.
func templateMark(template []byte) (func([]byte, string, bool) ([]byte, error), error) {
	head, rest, ok := cutMetadata(template)
	if !ok {
		return nil, ErrTemplate
	}
	return func(dst []byte, rv string, initialEnd bool) ([]byte, error) {
		dst = append(dst, head...)
		dst = append(dst, `{"resourceVersion":`...)
		dst = json.AppendString(dst, rv)
		if initialEnd {
			dst = append(dst, `,"annotations":{"k8s.io/initial-events-end":"true"}`...)
		}
		return append(append(dst, '}'), rest...), nil
	}, nil
}

// cutMetadata splits an object around the value of its metadata.
func cutMetadata(obj []byte) (head, rest []byte, ok bool) {
	part := &head
	for key, v := range json.Value(obj).Members {
		*part = append(*part, ',')
		*part = append(json.AppendString(*part, key), ':')
		if string(key) == "metadata" && !ok {
			ok, part = true, &rest
			continue
		}
		*part = append(*part, v...)
	}
	if ok {
		head[0] = '{'
	}
	return head, append(rest, '}'), ok
}
