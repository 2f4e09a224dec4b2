package codec

import "sluice/codec/cbor"

// cborLayout is CBOR: every whole item begins with the self-described tag, also the object inside an event, and the items
// of a list have none (wire.md 3).
type cborLayout struct {
	body body
	list collection
}

func (l *cborLayout) appendObject(dst, src []byte) ([]byte, error) {
	base := len(dst)
	dst, err := l.body.object(append(dst, cbor.SelfDescribed...), src, true)
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}

func (l *cborLayout) appendItem(dst, src []byte) ([]byte, error) { return l.body.item(dst, src) }
func (l *cborLayout) separator() string                          { return "" }

// appendHead appends the whole list but its items, which are last: lengths are definite, so there is nothing to close.
func (l *cborLayout) appendHead(dst []byte, meta *ListMeta, n, _ int) []byte {
	s := getScratch()
	defer s.put()
	s.b = meta.appendJSON(s.b[:0], l.list.style)
	if n == 0 && l.list.nullWhenEmpty {
		n = -1
	}
	dst, _ = cbor.AppendListHead(dst, l.list.apiVersion, l.list.kind, s.b, n) // the metadata is our own
	return dst
}

func (l *cborLayout) appendTail(dst []byte, _ *ListMeta, _ int) []byte { return dst }

func (l *cborLayout) appendEvent(dst []byte, typ string, src []byte, b body, first bool) ([]byte, error) {
	base := len(dst)
	dst, err := b.object(cbor.AppendEventHead(dst, typ), src, first)
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}

func (l *cborLayout) appendStatus(dst []byte, s *Status) []byte {
	return appendKnown(cbor.AppendEventHead(dst, EventError), s.appendJSON(nil), cbor.AppendFromJSON)
}
