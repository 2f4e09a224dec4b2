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

// AppendObject appends the response to a get.
func (p *Protobuf) AppendObject(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	if e == (Passthrough{}) {
		return proto.AppendEnvelope(dst, p.APIVersion, p.Kind, src), nil
	}
	s := scratch.Get()
	defer s.Put()
	var err error
	if s.B, err = e.AppendObject(s.B, src, true); err != nil {
		return dst, err
	}
	return proto.AppendEnvelope(dst, p.APIVersion, p.Kind, s.B), nil
}

// AppendItem appends an item of a list.
func (p *Protobuf) AppendItem(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	if e == (Passthrough{}) {
		return proto.AppendItem(dst, src), nil
	}
	s := scratch.Get()
	defer s.Put()
	var err error
	if s.B, err = e.AppendItem(s.B, src); err != nil {
		return dst, err
	}
	if p.ItemsFirst {
		return proto.AppendBytesField(dst, 1, s.B), nil
	}
	return proto.AppendItem(dst, s.B), nil
}

// Separator returns the separator of two items: nothing.
func (p *Protobuf) Separator() string { return "" }

// AppendListHead appends the beginning of a list, up to its first item. size is the length in bytes of all items as
// AppendItem appended them: the envelope contains it.
func (p *Protobuf) AppendListHead(dst []byte, meta *metav1.ListMeta, _, size int) []byte {
	size += protowire.SizeTag(1) + protowire.SizeBytes(meta.Size())
	dst = proto.AppendEnvelopeHead(dst, p.List.APIVersion, p.List.Kind, size)
	if p.ItemsFirst {
		return dst
	}
	return appendListMetaField(dst, 1, meta)
}

// AppendListTail appends the end of a list, after its last item.
func (p *Protobuf) AppendListTail(dst []byte, meta *metav1.ListMeta, _ int) []byte {
	if p.ItemsFirst {
		dst = appendListMetaField(dst, 2, meta)
	}
	return proto.AppendEnvelopeTail(dst)
}

// AppendEvent appends a watch event.
func (p *Protobuf) AppendEvent(dst []byte, typ string, src []byte, e ObjectEncoder, first bool) ([]byte, error) {
	if e == (Passthrough{}) {
		return proto.AppendEvent(dst, typ, p.APIVersion, p.Kind, src), nil
	}
	s := scratch.Get()
	defer s.Put()
	var err error
	if s.B, err = e.AppendObject(s.B, src, first); err != nil {
		return dst, err
	}
	return proto.AppendEvent(dst, typ, p.APIVersion, p.Kind, s.B), nil
}

// AppendErrorEvent appends an ERROR event.
func (p *Protobuf) AppendErrorEvent(dst []byte, s *metav1.Status) []byte {
	raw, _ := s.Marshal() // into a buffer of its size, so it cannot fail
	return proto.AppendEvent(dst, string(watch.Error), "v1", "Status", raw)
}

func appendListMetaField(dst []byte, num protowire.Number, meta *metav1.ListMeta) []byte {
	raw, _ := meta.Marshal() // into a buffer of its size, so it cannot fail
	return proto.AppendBytesField(dst, num, raw)
}
