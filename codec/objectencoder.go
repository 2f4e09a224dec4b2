package codec

import (
	"bytes"
	stdjson "encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"sluice/codec/cbor"
	"sluice/codec/framing"
	"sluice/codec/internal/scratch"
	"sluice/codec/json"
	"sluice/codec/projection"
	"sluice/codec/proto"
)

// objectEncoder encodes one stored object.
type objectEncoder = framing.ObjectEncoder

// passthrough gives the stored bytes: Protobuf from Protobuf, unstructured JSON from JSON.
type passthrough = framing.Passthrough

// appendFunc appends src to dst in another encoding.
type appendFunc func(dst, src []byte) ([]byte, error)

// apart encodes objects and items of lists in different ways: the items of typed lists have no kind and apiVersion.
type apart struct{ object, item appendFunc }

func (a apart) AppendObject(dst, src []byte, _ bool) ([]byte, error) { return a.object(dst, src) }
func (a apart) AppendItem(dst, src []byte) ([]byte, error)           { return a.item(dst, src) }

// alike encodes items of lists as it encodes objects.
func alike(f appendFunc) apart { return apart{f, f} }

// The encoders without parameters, named after their output.
var (
	withoutPoints = alike(func(dst, src []byte) ([]byte, error) { return json.AppendWithoutPoints(dst, src), nil })
	jsonToCBOR    = alike(cbor.AppendFromJSON)
)

// typedJSON gives typed JSON from JSON. Nearly every stored object begins with its kind and apiVersion.
func typedJSON(r *Resource) apart {
	prefix := append(json.AppendTypeMeta(nil, r.APIVersion(), r.Kind), ',')
	return apart{passthrough{}.AppendItem, func(dst, src []byte) ([]byte, error) {
		if rest, ok := bytes.CutPrefix(src, prefix); ok {
			return append(append(dst, '{'), rest...), nil
		}
		return json.AppendWithoutTypeMeta(dst, src)
	}}
}

// metadataFromJSON gives PartialObjectMetadata from JSON, by way of the Go type, as the apiserver does.
// Its items have kind and apiVersion too.
func metadataFromJSON(f Format) apart {
	marshal := func(p *metav1.PartialObjectMetadata) ([]byte, error) { return stdjson.Marshal(p) }
	switch f.Encoding {
	case Protobuf:
		marshal = (*metav1.PartialObjectMetadata).Marshal
	case CBOR:
		marshal = func(p *metav1.PartialObjectMetadata) ([]byte, error) { return direct.Marshal(p) }
	}
	return alike(func(dst, src []byte) ([]byte, error) {
		p, err := json.PartialObjectMetadata(src, f.MetaVersion.String())
		if err != nil {
			return dst, err
		}
		out, err := marshal(p)
		return append(dst, out...), err
	})
}

// metadataFromProtobuf gives PartialObjectMetadata from Protobuf: only the metadata of an object reaches
// e, the encoder of that kind. Its items have kind and apiVersion too.
func metadataFromProtobuf(e objectEncoder) apart {
	return alike(func(dst, src []byte) ([]byte, error) {
		raw, err := proto.PartialObjectMetadata(src)
		if err != nil {
			return dst, err
		}
		return e.AppendObject(dst, raw, true)
	})
}

// projected gives a part of the stored JSON.
func projected(t *projection.Tree) apart {
	return alike(func(dst, src []byte) ([]byte, error) { return json.AppendProjected(dst, src, t) })
}

// pipe encodes the output of the first encoder by the second.
func pipe(first, second objectEncoder) objectEncoder {
	object := func(e objectEncoder) appendFunc {
		return func(dst, src []byte) ([]byte, error) { return e.AppendObject(dst, src, true) }
	}
	return apart{piped(object(first), object(second)), piped(first.AppendItem, second.AppendItem)}
}

func piped(first, second appendFunc) appendFunc {
	return func(dst, src []byte) ([]byte, error) {
		return scratch.Through(dst, func(b []byte) ([]byte, error) { return first(b, src) }, second)
	}
}
