package codec

import (
	"sluice/codec/json"
	"sluice/codec/proto"
)

// body turns stored bytes into one object of the target's encoding: bare, without envelope, tag or newline around it.
type body interface {
	// object appends the object with its kind and apiVersion (in Protobuf these are the envelope's). first says that it
	// is the first of its stream.
	object(dst, src []byte, first bool) ([]byte, error)
	// item appends the object as an item of a list.
	item(dst, src []byte) ([]byte, error)
}

// copied gives the stored bytes as they are: Protobuf from Protobuf, unstructured JSON from JSON.
type copied struct{}

func (copied) object(dst, src []byte, _ bool) ([]byte, error) { return append(dst, src...), nil }
func (copied) item(dst, src []byte) ([]byte, error)           { return append(dst, src...), nil }

// typedJSON gives typed JSON out of JSON: items lose their kind and apiVersion, which stand in front.
type typedJSON struct{ front string }

func newTypedJSON(r *Resource) typedJSON {
	return typedJSON{string(append(appendTypeMeta(nil, r.Kind, r.APIVersion()), ','))}
}

func (typedJSON) object(dst, src []byte, _ bool) ([]byte, error) { return append(dst, src...), nil }

func (t typedJSON) item(dst, src []byte) ([]byte, error) {
	if len(src) > len(t.front) && string(src[:len(t.front)]) == t.front {
		return append(append(dst, '{'), src[len(t.front):]...), nil
	}
	return json.AppendWithoutTypeMeta(dst, src)
}

// planJSON gives JSON out of Protobuf, by the plan of the kind.
type planJSON struct{ *proto.Schema }

func (p planJSON) object(dst, src []byte, _ bool) ([]byte, error) { return p.AppendJSON(dst, src) }
func (p planJSON) item(dst, src []byte) ([]byte, error)           { return p.AppendJSONItem(dst, src) }

// planCBOR gives CBOR out of Protobuf.
type planCBOR struct{ *proto.Schema }

func (p planCBOR) object(dst, src []byte, _ bool) ([]byte, error) { return p.AppendCBOR(dst, src) }
func (p planCBOR) item(dst, src []byte) ([]byte, error)           { return p.AppendCBORItem(dst, src) }

// metadataJSON gives a PartialObjectMetadata in JSON out of JSON. Its items, too, have kind and apiVersion.
type metadataJSON struct{ version string }

func (m metadataJSON) object(dst, src []byte, _ bool) ([]byte, error) { return m.item(dst, src) }
func (m metadataJSON) item(dst, src []byte) ([]byte, error) {
	return json.AppendPartialObjectMetadata(dst, src, m.version)
}

// metadataPlan gives a PartialObjectMetadata in JSON or CBOR out of Protobuf: the kind's own body is fed with metadata
// alone.
type metadataPlan struct{ of body }

func (m metadataPlan) object(dst, src []byte, first bool) ([]byte, error) { return m.item(dst, src) }
func (m metadataPlan) item(dst, src []byte) ([]byte, error) {
	raw, err := proto.PartialObjectMetadata(src)
	if err != nil {
		return dst, err
	}
	return m.of.object(dst, raw, false)
}

// metadataProto gives a PartialObjectMetadata message out of Protobuf.
type metadataProto struct{}

func (metadataProto) object(dst, src []byte, _ bool) ([]byte, error) {
	return proto.AppendPartialObjectMetadata(dst, src)
}
func (metadataProto) item(dst, src []byte) ([]byte, error) {
	return proto.AppendPartialObjectMetadata(dst, src)
}

// metadataProtoJSON gives a PartialObjectMetadata message out of JSON.
type metadataProtoJSON struct{}

func (metadataProtoJSON) object(dst, src []byte, _ bool) ([]byte, error) {
	return appendMetadataProto(dst, src)
}
func (metadataProtoJSON) item(dst, src []byte) ([]byte, error) { return appendMetadataProto(dst, src) }

// through gives what convert makes of another body's output, one object at a time.
type through struct {
	of      body
	convert func(dst, src []byte) ([]byte, error)
}

func (c through) object(dst, src []byte, first bool) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = c.of.object(s.b[:0], src, first); err != nil {
		return dst, err
	}
	return c.convert(dst, s.b)
}

func (c through) item(dst, src []byte) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = c.of.item(s.b[:0], src); err != nil {
		return dst, err
	}
	return c.convert(dst, s.b)
}
