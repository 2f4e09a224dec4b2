package proto

// AppendWithResourceVersion appends raw with its metadata.resourceVersion replaced,
// every other byte kept. A DELETED event for an object that left a selector
// carries the previous object with the new version. Errors: as of ObjectMeta.
func AppendWithResourceVersion(dst, raw []byte, resourceVersion string) ([]byte, error) {
	meta, err := lastField(raw, objectMeta)
	if err != nil {
		return dst, at(err, "object", 0)
	}
	b := raw[meta.start:meta.end]
	version, err := lastField(b, metaResourceVersion)
	if err != nil {
		return dst, at(err, "metadata", 0)
	}
	size := len(b) - (version.end - version.head) + bytesSize(len(resourceVersion))
	dst = append(dst, raw[:meta.head]...)
	dst = appendHead(dst, objectMeta, size)
	dst = append(dst, b[:version.head]...)
	dst = appendBytes(dst, metaResourceVersion, resourceVersion)
	dst = append(dst, b[version.end:]...)
	return append(dst, raw[meta.end:]...), nil
}

// A place is where a field lies in a message, or would have to be inserted:
// then it is empty, head, start and end being equal.
type place struct{ head, start, end int }

// lastField finds the last field with this number, of length-delimited wire
// type: the one that counts. If there is none, its place is in front of the
// first field with a larger number.
func lastField(b []byte, num int) (place, error) {
	found, insert := false, -1
	var p place
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		switch {
		case err != nil:
			return p, err
		case f.num == num && f.typ != wireBytes:
			return p, ErrWireType
		case f.num == num:
			p, found = place{i, f.start, f.end}, true
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
	return place{insert, insert, insert}, nil
}
