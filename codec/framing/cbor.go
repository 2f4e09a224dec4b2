package framing

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/codec/cbor"
)

// CBOR begins every whole item with the self-described tag, also the object inside an event; the items of
// a list have none (wire.md 3).
type CBOR struct{ List List }

func (c *CBOR) AppendObject(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return e.AppendObject(append(dst, cbor.SelfDescribed...), src, true)
}

func (c *CBOR) AppendItem(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return e.AppendItem(dst, src)
}

func (c *CBOR) Separator() string { return "" }

// AppendListHead appends everything except the n items, which come last. Lengths are definite, so there is no tail.
func (c *CBOR) AppendListHead(dst []byte, meta *metav1.ListMeta, n, _ int) []byte {
	if n == 0 && c.List.NullWhenEmpty {
		n = -1
	}
	metadata := c.List.appendListMeta(nil, meta)
	dst, _ = cbor.AppendListHead(dst, c.List.APIVersion, c.List.Kind, metadata, n) // the metadata is well-formed
	return dst
}

func (c *CBOR) AppendListTail(dst []byte, _ *metav1.ListMeta, _ int) []byte { return dst }

func (c *CBOR) AppendEvent(dst []byte, typ string, src []byte, e ObjectEncoder, first bool) ([]byte, error) {
	return e.AppendObject(cbor.AppendEventHead(dst, typ), src, first)
}

func (c *CBOR) AppendErrorEvent(dst []byte, s *metav1.Status) []byte {
	dst = cbor.AppendEventHead(dst, string(watch.Error))
	dst, _ = cbor.AppendFromJSON(dst, statusJSON(s)) // which is well-formed
	return dst
}
