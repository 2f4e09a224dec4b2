package codec

import (
	"sluice/codec/cbor"
	"sluice/codec/framing"
	"sluice/codec/internal/scratch"
	"sluice/codec/json"
	"sluice/codec/proto"
)

// objectEncoder encodes one stored object. The implementations are named after what they give.
type objectEncoder = framing.ObjectEncoder

// passthrough gives the stored bytes: Protobuf from Protobuf, unstructured JSON from JSON.
type passthrough = framing.Passthrough

// typedJSON gives typed JSON from JSON: items lose kind and apiVersion, which are the prefix.
type typedJSON struct{ prefix string }

func newTypedJSON(r *Resource) typedJSON {
	return typedJSON{string(append(appendTypeMeta(nil, r.Kind, r.APIVersion()), ','))}
}

// appendTypeMeta appends the beginning of a typed object: {"kind":…,"apiVersion":…
func appendTypeMeta(dst []byte, kind, apiVersion string) []byte {
	dst = append(dst, `{"kind":`...)
	dst = json.AppendString(dst, kind)
	dst = append(dst, `,"apiVersion":`...)
	return json.AppendString(dst, apiVersion)
}

func (typedJSON) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return append(dst, src...), nil
}

func (t typedJSON) AppendItem(dst, src []byte) ([]byte, error) {
	if len(src) > len(t.prefix) && string(src[:len(t.prefix)]) == t.prefix {
		return append(append(dst, '{'), src[len(t.prefix):]...), nil
	}
	return json.AppendWithoutTypeMeta(dst, src)
}

// withoutPoints gives unstructured JSON from JSON with whole-number floats.
type withoutPoints struct{}

func (withoutPoints) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return json.AppendWithoutPoints(dst, src), nil
}

func (withoutPoints) AppendItem(dst, src []byte) ([]byte, error) {
	return json.AppendWithoutPoints(dst, src), nil
}

// schemaJSON gives JSON from Protobuf.
type schemaJSON struct{ *proto.Schema }

func (s schemaJSON) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return s.AppendJSON(dst, src)
}
func (s schemaJSON) AppendItem(dst, src []byte) ([]byte, error) { return s.AppendJSONItem(dst, src) }

// schemaCBOR gives CBOR from Protobuf.
type schemaCBOR struct{ *proto.Schema }

func (s schemaCBOR) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return s.AppendCBOR(dst, src)
}
func (s schemaCBOR) AppendItem(dst, src []byte) ([]byte, error) { return s.AppendCBORItem(dst, src) }

// jsonToCBOR gives CBOR from JSON.
type jsonToCBOR struct{}

func (jsonToCBOR) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return cbor.AppendFromJSON(dst, src)
}
func (jsonToCBOR) AppendItem(dst, src []byte) ([]byte, error) { return cbor.AppendFromJSON(dst, src) }

// metadataJSON gives PartialObjectMetadata in JSON from JSON. Its items have kind and apiVersion too.
type metadataJSON struct{ version string }

func (m metadataJSON) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return json.AppendPartialObjectMetadata(dst, src, m.version)
}
func (m metadataJSON) AppendItem(dst, src []byte) ([]byte, error) {
	return json.AppendPartialObjectMetadata(dst, src, m.version)
}

// metadataFromProtobuf gives PartialObjectMetadata in JSON or CBOR from Protobuf: only the metadata of an
// object reaches the encoder of that kind. Its items have kind and apiVersion too.
type metadataFromProtobuf struct{ encoder objectEncoder }

func (m metadataFromProtobuf) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return m.AppendItem(dst, src)
}
func (m metadataFromProtobuf) AppendItem(dst, src []byte) ([]byte, error) {
	raw, err := proto.PartialObjectMetadata(src)
	if err != nil {
		return dst, err
	}
	return m.encoder.AppendObject(dst, raw, false)
}

// metadataProtobuf gives PartialObjectMetadata in Protobuf from Protobuf.
type metadataProtobuf struct{}

func (metadataProtobuf) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return proto.AppendPartialObjectMetadata(dst, src)
}
func (metadataProtobuf) AppendItem(dst, src []byte) ([]byte, error) {
	return proto.AppendPartialObjectMetadata(dst, src)
}

// metadataProtobufFromJSON gives PartialObjectMetadata in Protobuf from JSON.
type metadataProtobufFromJSON struct{}

func (metadataProtobufFromJSON) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return proto.AppendPartialObjectMetadataFromJSON(dst, src)
}
func (metadataProtobufFromJSON) AppendItem(dst, src []byte) ([]byte, error) {
	return proto.AppendPartialObjectMetadataFromJSON(dst, src)
}

// withoutManagedFields gives the stored bytes without metadata.managedFields.
type withoutManagedFields struct{ source Encoding }

func (w withoutManagedFields) AppendObject(dst, src []byte, _ bool) ([]byte, error) {
	return w.AppendItem(dst, src)
}
func (w withoutManagedFields) AppendItem(dst, src []byte) ([]byte, error) {
	if w.source == Protobuf {
		return proto.AppendWithoutManagedFields(dst, src)
	}
	return json.AppendWithoutManagedFields(dst, src)
}

// pipe gives what the second encoder makes of the output of the first.
type pipe struct{ first, second objectEncoder }

func (p pipe) AppendObject(dst, src []byte, first bool) ([]byte, error) {
	s := scratch.Get()
	defer s.Put()
	var err error
	if s.B, err = p.first.AppendObject(s.B, src, first); err != nil {
		return dst, err
	}
	return p.second.AppendObject(dst, s.B, first)
}

func (p pipe) AppendItem(dst, src []byte) ([]byte, error) {
	s := scratch.Get()
	defer s.Put()
	var err error
	if s.B, err = p.first.AppendItem(s.B, src); err != nil {
		return dst, err
	}
	return p.second.AppendItem(dst, s.B)
}
