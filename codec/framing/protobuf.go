package framing

import (
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/codec/internal/scratch"
	"sluice/codec/proto"
)

// Protobuf has objects and lists in an envelope, items as fields of the list, and events as frames with
// their length in front (wire.md 2).
type Protobuf struct {
	List             List
	APIVersion, Kind string // of a single object
	// ItemsFirst is true for the PartialObjectMetadataList of v1beta1: its items are field 1, and its
	// metadata is field 2 and comes last.
	ItemsFirst bool
}

func (p *Protobuf) AppendObject(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return raw(dst, src, e, true, func(dst, raw []byte) []byte {
		return proto.AppendEnvelope(dst, p.APIVersion, p.Kind, raw)
	})
}

// raw appends the message of an object by add.
func raw(dst, src []byte, e ObjectEncoder, first bool, add func(dst, raw []byte) []byte) ([]byte, error) {
	if e == (Passthrough{}) {
		return add(dst, src), nil
	}
	return scratch.Through(dst,
		func(b []byte) ([]byte, error) { return e.AppendObject(b, src, first) },
		func(dst, raw []byte) ([]byte, error) { return add(dst, raw), nil })
}

func (p *Protobuf) AppendItem(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return raw(dst, src, e, true, func(dst, raw []byte) []byte {
		if p.ItemsFirst {
			return proto.AppendBytesField(dst, 1, raw)
		}
		return proto.AppendItem(dst, raw)
	})
}

func (p *Protobuf) Separator() string { return "" }

// AppendListHead needs the size, which the envelope contains.
func (p *Protobuf) AppendListHead(dst []byte, meta *metav1.ListMeta, _, size int) []byte {
	size += protowire.SizeTag(1) + protowire.SizeBytes(meta.Size())
	dst = proto.AppendEnvelopeHead(dst, p.List.APIVersion, p.List.Kind, size)
	if p.ItemsFirst {
		return dst
	}
	return appendListMetaField(dst, 1, meta)
}

func (p *Protobuf) AppendListTail(dst []byte, meta *metav1.ListMeta, _ int) []byte {
	if p.ItemsFirst {
		dst = appendListMetaField(dst, 2, meta)
	}
	return proto.AppendEnvelopeTail(dst)
}

func (p *Protobuf) AppendEvent(dst []byte, typ string, src []byte, e ObjectEncoder, first bool) ([]byte, error) {
	return raw(dst, src, e, first, func(dst, raw []byte) []byte {
		return proto.AppendEvent(dst, typ, p.APIVersion, p.Kind, raw)
	})
}

func (p *Protobuf) AppendErrorEvent(dst []byte, s *metav1.Status) []byte {
	raw, _ := s.Marshal() // into a buffer of its size, so it cannot fail
	return proto.AppendEvent(dst, string(watch.Error), "v1", "Status", raw)
}

func appendListMetaField(dst []byte, num protowire.Number, meta *metav1.ListMeta) []byte {
	raw, _ := meta.Marshal() // into a buffer of its size, so it cannot fail
	return proto.AppendBytesField(dst, num, raw)
}
