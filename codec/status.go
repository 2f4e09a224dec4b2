package codec

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// AppendStatus appends s as the body of an error response: compact JSON with a newline or indented
// JSON without one, YAML, an enveloped Protobuf message, or tagged CBOR (wire.md 1.3, 10). Of f
// only Encoding and Pretty count. Kind, apiVersion and an empty status field are filled in as the
// apiserver does, so that the errors of apimachinery's package errors can be given as they are.
func AppendStatus(dst []byte, s *metav1.Status, f Format) []byte {
	out := bytes.NewBuffer(dst)
	_ = statusEncoder(f).Encode(completeStatus(s), out) // neither a Status nor a Buffer can fail
	return out.Bytes()
}

func statusEncoder(f Format) runtime.Encoder {
	switch f.Encoding {
	case Protobuf:
		return protobuf.NewSerializer(nil, nil)
	case CBOR:
		return cbor.NewSerializer(nil, nil)
	}
	options := json.SerializerOptions{Yaml: f.Encoding == YAML, Pretty: f.Pretty}
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, nil, nil, options)
}

// completeStatus returns a copy of s with the fields that every Status of an apiserver has.
func completeStatus(s *metav1.Status) *metav1.Status {
	out := *s
	out.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if out.Status == "" {
		out.Status = metav1.StatusFailure
	}
	return &out
}
