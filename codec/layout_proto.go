package codec

import (
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/proto"
)

// protoLayout is Protobuf: objects and lists in an envelope, items as fields of the list, events as frames.
type protoLayout struct {
	body             body
	apiVersion, kind string // of a single object
	list             collection
	beta             bool // a v1beta1 PartialObjectMetadataList: items are field 1, metadata is field 2 and comes last
}

func newProtoLayout(b body, r *Resource, f Format) *protoLayout {
	l := &protoLayout{body: b, apiVersion: r.APIVersion(), kind: r.Kind, list: newCollection(r, f)}
	if f.Shape == Metadata {
		l.apiVersion, l.kind = f.MetaVersion.String(), "PartialObjectMetadata"
		l.beta = f.MetaVersion == MetaV1beta1
	}
	return l
}

func (l *protoLayout) appendObject(dst, src []byte) ([]byte, error) {
	if l.body == (copied{}) {
		return proto.AppendEnvelope(dst, l.apiVersion, l.kind, src), nil
	}
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = l.body.object(s.b[:0], src, true); err != nil {
		return dst, err
	}
	return proto.AppendEnvelope(dst, l.apiVersion, l.kind, s.b), nil
}

func (l *protoLayout) appendItem(dst, src []byte) ([]byte, error) {
	if l.body == (copied{}) {
		return proto.AppendItem(dst, src), nil
	}
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = l.body.item(s.b[:0], src); err != nil {
		return dst, err
	}
	if l.beta {
		return appendBytesField(dst, 1, s.b), nil
	}
	return proto.AppendItem(dst, s.b), nil
}

func (l *protoLayout) separator() string { return "" }

// appendHead needs size, the bytes of all items as appendItem wrote them: the envelope tells it ahead of them.
func (l *protoLayout) appendHead(dst []byte, meta *metav1.ListMeta, _, size int) []byte {
	size += protowire.SizeTag(1) + protowire.SizeBytes(meta.Size())
	dst = proto.AppendEnvelopeHead(dst, l.list.apiVersion, l.list.kind, size)
	if l.beta {
		return dst
	}
	return appendListMetaField(dst, 1, meta)
}

func (l *protoLayout) appendTail(dst []byte, meta *metav1.ListMeta, _ int) []byte {
	if l.beta {
		dst = appendListMetaField(dst, 2, meta)
	}
	return proto.AppendEnvelopeTail(dst)
}

func (l *protoLayout) appendEvent(dst []byte, typ string, src []byte, b body, first bool) ([]byte, error) {
	if b == (copied{}) {
		return proto.AppendEvent(dst, typ, l.apiVersion, l.kind, src), nil
	}
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = b.object(s.b[:0], src, first); err != nil {
		return dst, err
	}
	return proto.AppendEvent(dst, typ, l.apiVersion, l.kind, s.b), nil
}

func (l *protoLayout) appendStatus(dst []byte, s *metav1.Status) []byte {
	raw, _ := s.Marshal() // a Status always fits
	return proto.AppendEvent(dst, EventError, "v1", "Status", raw)
}

// appendListMetaField appends the metadata of a list: field 1, except in one list.
func appendListMetaField(dst []byte, num protowire.Number, meta *metav1.ListMeta) []byte {
	raw, _ := meta.Marshal() // a ListMeta always fits
	return appendBytesField(dst, num, raw)
}
