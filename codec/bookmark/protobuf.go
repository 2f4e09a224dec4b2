package bookmark

import (
	"bytes"
	"maps"

	"google.golang.org/protobuf/encoding/protowire"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/proto"
)

// Protobuf returns the Encoder for built-in resources in Protobuf: the zero message of the kind with other
// metadata, which is its first field. A kind without a schema has only metadata, which is enough for the
// formats in which such a kind can be written.
func Protobuf(group, apiVersion, kind string) (Encoder, error) {
	rest, err := zeroMessage(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	if group == "apps" && hasReplicas(kind) {
		rest = withReplicas(rest)
	}
	plain := ownAnnotations(group, kind)
	ending := map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	maps.Copy(ending, plain)
	return func(dst []byte, rv string, initialEventsEnd bool) ([]byte, error) {
		meta := metav1.ObjectMeta{ResourceVersion: rv, Annotations: plain}
		if initialEventsEnd {
			meta.Annotations = ending
		}
		raw, err := meta.Marshal()
		if err != nil {
			return dst, err
		}
		return append(proto.AppendBytesField(dst, 1, raw), rest...), nil
	}, nil
}

// zeroMessage returns the zero message of a kind without its metadata.
func zeroMessage(apiVersion, kind string) ([]byte, error) {
	schema, ok := proto.Lookup(apiVersion, kind)
	if !ok {
		return nil, nil
	}
	zero := schema.AppendZero(nil)
	meta, err := proto.PartialObjectMetadata(zero)
	if err != nil || !bytes.HasPrefix(zero, meta) {
		return nil, ErrNoTemplate
	}
	return zero[len(meta):], nil
}

// hasReplicas reports whether spec.replicas is a pointer in the version of a kind of apps but not in the
// apiserver's internal type. The conversion of a zero object sets it.
func hasReplicas(kind string) bool {
	return kind == "Deployment" || kind == "ReplicaSet" || kind == "StatefulSet"
}

// withReplicas sets spec.replicas to zero in a zero message without metadata. Spec is the first field of
// that, and replicas is the first field of spec.
func withReplicas(rest []byte) []byte {
	const specTag, replicas = 0x12, "\x08\x00"
	var spec []byte
	if len(rest) > 0 && rest[0] == specTag {
		b, n := protowire.ConsumeBytes(rest[1:])
		if n < 0 {
			return rest
		}
		spec, rest = b, rest[1+n:]
	}
	out := proto.AppendBytesField(nil, 2, append([]byte(replicas), spec...))
	return append(out, rest...)
}

// ownAnnotations returns the annotations that the conversion from the apiserver's internal type adds to a
// zero object.
func ownAnnotations(group, kind string) map[string]string {
	if group == "apps" && kind == "DaemonSet" {
		return map[string]string{appsv1.DeprecatedTemplateGeneration: "0"}
	}
	return nil
}
