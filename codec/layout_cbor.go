package codec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/cbor"
)

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
func (l *cborLayout) appendHead(dst []byte, meta *metav1.ListMeta, n, _ int) []byte {
	s := getScratch()
	defer s.put()
	s.b = appendListMeta(s.b[:0], meta, l.list.style)
	if n == 0 && l.list.nullWhenEmpty {
		n = -1
	}
	dst, _ = cbor.AppendListHead(dst, l.list.apiVersion, l.list.kind, s.b, n) // the metadata is our own
	return dst
}

func (l *cborLayout) appendTail(dst []byte, _ *metav1.ListMeta, _ int) []byte { return dst }

func (l *cborLayout) appendEvent(dst []byte, typ string, src []byte, b body, first bool) ([]byte, error) {
	base := len(dst)
	dst, err := b.object(cbor.AppendEventHead(dst, typ), src, first)
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}

func (l *cborLayout) appendStatus(dst []byte, s *metav1.Status) []byte {
	dst, _ = cbor.AppendFromJSON(cbor.AppendEventHead(dst, EventError), statusJSON(s)) // made here
	return dst
}
