package proto

import (
	"slices"

	"sluice/codec/internal/scratch"
)

// AppendWithResourceVersion appends raw with its metadata.resourceVersion replaced and every other
// byte unchanged. It serves DELETED events of objects that left a selector, which carry the
// previous object with the new version. It returns the errors of ParseObjectMeta.
func AppendWithResourceVersion(dst, raw []byte, resourceVersion string) ([]byte, error) {
	meta, err := lastField(raw, objectMeta)
	if err != nil {
		return dst, in(err, "object")
	}
	b := raw[meta.start:meta.end]
	version, err := lastField(b, metaResourceVersion)
	if err != nil {
		return dst, in(err, "metadata")
	}
	size := len(b) - (version.end - version.head) + bytesSize(len(resourceVersion))
	dst = append(dst, raw[:meta.head]...)
	dst = appendHead(dst, objectMeta, size)
	dst = append(dst, b[:version.head]...)
	dst = appendBytes(dst, metaResourceVersion, resourceVersion)
	dst = append(dst, b[version.end:]...)
	return append(dst, raw[meta.end:]...), nil
}

// A fieldRange is the position of a field in a message: of its tag, its payload and its end. All
// three are equal where a field would have to be inserted.
type fieldRange struct{ head, start, end int }

// lastField finds the last field with this number and a length-delimited wire type, which is the
// one that counts. If there is none, the range is the place before the first field with a larger
// number.
func lastField(b []byte, num int) (fieldRange, error) {
	found, insert := false, -1
	var p fieldRange
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		switch {
		case err != nil:
			return p, err
		case f.num == num && f.typ != wireBytes:
			return p, ErrWireType
		case f.num == num:
			p, found = fieldRange{i, f.start, f.end}, true
		case f.num > num && insert < 0:
			insert = i
		}
		i = f.end
	}
	if found {
		return p, nil
	}
	if insert < 0 {
		insert = len(b)
	}
	return fieldRange{insert, insert, insert}, nil
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
				func(kept []byte) ([]byte, error) { return appendKept(kept, raw[f.start:f.end], drop) },
				func(dst, kept []byte) ([]byte, error) { return appendBytes(dst, objectMeta, kept), nil })
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
