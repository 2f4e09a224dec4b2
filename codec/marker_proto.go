package codec

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"sluice/codec/proto"
)

// protoMarker makes bookmarks of a kind's zero message by giving it other metadata, which is its first field.
func protoMarker(r *Resource) (marker, error) {
	rest, err := zeroRest(r)
	if err != nil {
		return nil, err
	}
	if r.Group == "apps" && hasReplicas(r.Kind) {
		rest = withReplicas(rest)
	}
	plain, ending := annotations(ownAnnotations(r), false), annotations(ownAnnotations(r), true)
	return func(dst []byte, rv string, initialEnd bool) ([]byte, error) {
		a := plain
		if initialEnd {
			a = ending
		}
		return append(appendMarkMeta(dst, rv, a), rest...), nil
	}, nil
}

// zeroRest returns what follows the metadata in the zero message of r's kind; of a kind without a plan nothing, which is as
// good to those formats that such a kind can be written in.
func zeroRest(r *Resource) ([]byte, error) {
	m, ok := proto.Lookup(r.APIVersion(), r.Kind)
	if !ok {
		return nil, nil
	}
	zero := m.AppendZero(nil)
	meta, err := proto.PartialObjectMetadata(zero)
	if err != nil || !bytes.HasPrefix(zero, meta) {
		return nil, ErrTemplate
	}
	return zero[len(meta):], nil
}

// hasReplicas tells the kinds whose number of replicas is a pointer in the version but not in the apiserver's internal
// type: converted, an empty one has it set.
func hasReplicas(kind string) bool {
	return kind == "Deployment" || kind == "ReplicaSet" || kind == "StatefulSet"
}

// withReplicas sets spec.replicas to zero in what follows the metadata of a zero message. Spec is its first field, and
// replicas that of the spec.
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
	out := appendBytesField(nil, 2, append([]byte(replicas), spec...))
	return append(out, rest...)
}

// ownAnnotations are those that the apiserver's conversion from its internal type makes up.
func ownAnnotations(r *Resource) []annotation {
	if r.Group == "apps" && r.Kind == "DaemonSet" {
		return []annotation{{"deprecated.daemonset.template.generation", "0"}}
	}
	return nil
}

// appendMarkMeta appends field 1 of an object, its ObjectMeta, empty but for the version and annotations.
func appendMarkMeta(dst []byte, rv string, annotations []annotation) []byte {
	base := len(dst)
	dst = append(dst, 0x0a, 0, 0x12, 0, 0x1a, 0, 0x22, 0, 0x2a, 0) // name, generateName, namespace, selfLink, uid
	dst = appendStringField(dst, 6, rv)
	dst = append(dst, 0x38, 0, 0x42, 0) // generation, creationTimestamp
	for _, a := range annotations {
		entry := len(dst)
		dst = appendStringField(dst, 1, a.key)
		dst = appendStringField(dst, 2, a.value)
		dst = closeField(dst, 12, entry)
	}
	return closeField(dst, 1, base)
}
