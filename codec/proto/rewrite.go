package proto

import "slices"

// AppendWithResourceVersion appends raw with its metadata.resourceVersion replaced and every other
// byte unchanged. It serves DELETED events of objects that left a selector, which carry the
// previous object with the new version. It returns the errors of ParseObjectMeta.
func AppendWithResourceVersion(dst, raw []byte, resourceVersion string) ([]byte, error) {
	meta, err := lastField(raw, objectMeta)
	if err != nil {
		return dst, withOffset(err, "object", 0)
	}
	b := raw[meta.start:meta.end]
	version, err := lastField(b, metaResourceVersion)
	if err != nil {
		return dst, withOffset(err, "metadata", 0)
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
	return appendWithout(dst, raw, isManagedFields)
}

// AppendWithoutAnnotations appends raw without the annotations that have one of the keys, and with
// every other byte unchanged. It returns the errors of ParseObjectMeta.
func AppendWithoutAnnotations(dst, raw []byte, keys ...string) ([]byte, error) {
	return appendWithout(dst, raw, func(f field, b []byte) (bool, error) {
		if f.num != metaAnnotations {
			return false, nil
		}
		if f.typ != wireBytes {
			return false, ErrWireType
		}
		key, _, err := parsePair(b[f.start:f.end])
		return slices.Contains(keys, string(key)), err
	})
}

// A metaFilter reports whether to drop the field f of the ObjectMeta b.
type metaFilter func(f field, b []byte) (bool, error)

func isManagedFields(f field, _ []byte) (bool, error) { return f.num == metaManagedFields, nil }

// appendWithout appends raw without the fields of its metadata that drop selects.
func appendWithout(dst, raw []byte, drop metaFilter) ([]byte, error) {
	base := len(dst)
	for i := 0; i < len(raw); {
		f, err := readField(raw, i)
		if err == nil && f.num == objectMeta {
			dst, err = appendMetaWithout(dst, f, raw, drop)
		} else if err == nil {
			dst = append(dst, raw[i:f.end]...)
		}
		if err != nil {
			return dst[:base], withOffset(err, "object", i)
		}
		i = f.end
	}
	return dst, nil
}

// appendMetaWithout appends the metadata field f of raw.
func appendMetaWithout(dst []byte, f field, raw []byte, drop metaFilter) ([]byte, error) {
	dropped, err := droppedSize(f, raw, drop)
	if err != nil {
		return dst, err
	}
	b := raw[f.start:f.end]
	dst = appendHead(dst, objectMeta, len(b)-dropped)
	for i := 0; i < len(b); {
		in, err := readField(b, i)
		if err != nil {
			return dst, err
		}
		if ok, _ := drop(in, b); !ok { // droppedSize has returned its errors
			dst = append(dst, b[i:in.end]...)
		}
		i = in.end
	}
	return dst, nil
}

// droppedSize returns the number of bytes that the dropped fields occupy in the metadata field f.
func droppedSize(f field, raw []byte, drop metaFilter) (n int, err error) {
	if f.typ != wireBytes {
		return 0, ErrWireType
	}
	b := raw[f.start:f.end]
	for i := 0; i < len(b); {
		in, err := readField(b, i)
		if err != nil {
			return 0, err
		}
		ok, err := drop(in, b)
		if err != nil {
			return 0, err
		}
		if ok {
			n += in.end - i
		}
		i = in.end
	}
	return n, nil
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
