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

// metaManagedFields is the field number in metav1.ObjectMeta.
const metaManagedFields = 17

// AppendWithoutManagedFields appends raw without its metadata.managedFields and with every other
// byte unchanged (KEP-5958). It returns the errors of ParseObjectMeta.
func AppendWithoutManagedFields(dst, raw []byte) ([]byte, error) {
	return appendWithout(dst, raw, func(f field, _ []byte) (bool, error) { return f.num == metaManagedFields, nil })
}

// AppendWithoutAnnotations appends raw without the annotations that have one of the keys, and with
// every other byte unchanged. It returns the errors of ParseObjectMeta.
func AppendWithoutAnnotations(dst, raw []byte, keys ...string) ([]byte, error) {
	return appendWithout(dst, raw, func(f field, v []byte) (bool, error) {
		if f.num != metaAnnotations {
			return false, nil
		}
		if f.typ != wireBytes {
			return false, ErrWireType
		}
		key, _, err := parsePair(v)
		return slices.Contains(keys, string(key)), err
	})
}

// A fieldFilter reports whether to drop a field with the payload v.
type fieldFilter func(f field, v []byte) (bool, error)

// appendWithout appends raw without the fields of its metadata that drop selects.
func appendWithout(dst, raw []byte, drop fieldFilter) ([]byte, error) {
	return appendWithMeta(dst, raw, func(dst, meta []byte) ([]byte, error) { return appendKept(dst, meta, drop) })
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

// appendKept appends the fields of the message b that drop does not select.
func appendKept(dst, b []byte, drop fieldFilter) ([]byte, error) {
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		if err != nil {
			return dst, err
		}
		dropped, err := drop(f, b[f.start:f.end])
		if err != nil {
			return dst, err
		}
		if !dropped {
			dst = append(dst, b[i:f.end]...)
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
