package proto

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/internal/scratch"
)

// AppendWithResourceVersion appends raw with its metadata.resourceVersion replaced and every other
// byte unchanged, if raw has passed Schema.Check. It serves DELETED events of objects that left a
// selector, which carry the previous object with the new version.
func AppendWithResourceVersion(dst, raw []byte, resourceVersion string) ([]byte, error) {
	return appendWithMeta(dst, raw, func(dst, b []byte) ([]byte, error) {
		var meta metav1.ObjectMeta
		if err := meta.Unmarshal(b); err != nil {
			return dst, err
		}
		meta.ResourceVersion = resourceVersion
		out, err := meta.Marshal()
		return append(dst, out...), err
	})
}

// AppendWithoutAnnotations appends raw without the annotations that have one of the keys, and with
// every other byte unchanged. It returns the errors of ParseObjectMeta.
func AppendWithoutAnnotations(dst, raw []byte, keys ...string) ([]byte, error) {
	return appendWithMeta(dst, raw, func(dst, meta []byte) ([]byte, error) {
		for i := 0; i < len(meta); {
			f, err := readField(meta, i)
			if err != nil {
				return dst, err
			}
			if f.num == metaAnnotations {
				if f.typ != wireBytes {
					return dst, ErrWireType
				}
				key, _, err := parsePair(meta[f.start:f.end])
				if err != nil {
					return dst, err
				}
				if slices.Contains(keys, string(key)) {
					i = f.end
					continue
				}
			}
			dst = append(dst, meta[i:f.end]...)
			i = f.end
		}
		return dst, nil
	})
}

// appendWithMeta appends raw with the output of edit as its metadata.
func appendWithMeta(dst, raw []byte, edit func(dst, meta []byte) ([]byte, error)) ([]byte, error) {
	base := len(dst)
	for i := 0; i < len(raw); {
		f, err := readField(raw, i)
		switch {
		case err != nil:
		case f.num != objectMeta:
			dst = append(dst, raw[i:f.end]...)
		case f.typ != wireBytes:
			err = ErrWireType
		default:
			dst, err = scratch.Through(dst,
				func(b []byte) ([]byte, error) { return edit(b, raw[f.start:f.end]) },
				func(dst, meta []byte) ([]byte, error) { return appendBytes(dst, objectMeta, meta), nil })
		}
		if err != nil {
			return dst[:base], in(err, "object")
		}
		i = f.end
	}
	return dst, nil
}

// PartialObjectMetadata returns the raw PartialObjectMetadata of a raw object: a message whose only
// field is the object's metadata. The apiserver writes metadata first, so the result is normally a
// prefix of raw. It returns the errors of ParseObjectMeta.
func PartialObjectMetadata(raw []byte) ([]byte, error) {
	b, err := objectMetaBytes(raw)
	if err != nil {
		return nil, err
	}
	head := bytesSize(len(b)) - len(b)
	if n := head + len(b); len(b) > 0 && n <= len(raw) && &raw[head] == &b[0] {
		return raw[:n:n], nil
	}
	return appendBytes(nil, objectMeta, b), nil
}
