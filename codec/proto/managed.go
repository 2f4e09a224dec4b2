package proto

// metaManagedFields is the field number in metav1.ObjectMeta.
const metaManagedFields = 17

// AppendWithoutManagedFields appends raw without its metadata.managedFields, every other
// byte kept (KEP-5958). Errors: as of ObjectMeta.
func AppendWithoutManagedFields(dst, raw []byte) ([]byte, error) {
	base := len(dst)
	for i := 0; i < len(raw); {
		f, err := readField(raw, i)
		if err == nil && f.num == objectMeta {
			dst, err = appendUnmanagedMeta(dst, f, raw)
		} else if err == nil {
			dst = append(dst, raw[i:f.end]...)
		}
		if err != nil {
			return dst[:base], at(err, "object", i)
		}
		i = f.end
	}
	return dst, nil
}

// SizeWithoutManagedFields is the number of bytes that AppendWithoutManagedFields appends.
func SizeWithoutManagedFields(raw []byte) (n int, err error) {
	n = len(raw)
	for i := 0; i < len(raw); {
		f, err := readField(raw, i)
		if err == nil && f.num == objectMeta {
			managed := 0
			managed, err = managedSize(f, raw)
			n += bytesSize(f.end-f.start-managed) - (f.end - i)
		}
		if err != nil {
			return 0, at(err, "object", i)
		}
		i = f.end
	}
	return n, nil
}

// appendUnmanagedMeta appends the metadata f of raw.
func appendUnmanagedMeta(dst []byte, f field, raw []byte) ([]byte, error) {
	managed, err := managedSize(f, raw)
	if err != nil {
		return dst, err
	}
	b := raw[f.start:f.end]
	dst = appendHead(dst, objectMeta, len(b)-managed)
	for i := 0; i < len(b); {
		in, err := readField(b, i)
		if err != nil {
			return dst, err
		}
		if in.num != metaManagedFields {
			dst = append(dst, b[i:in.end]...)
		}
		i = in.end
	}
	return dst, nil
}

// managedSize is how many bytes of the metadata f are managedFields.
func managedSize(f field, raw []byte) (n int, err error) {
	if f.typ != wireBytes {
		return 0, ErrWireType
	}
	b := raw[f.start:f.end]
	for i := 0; i < len(b); {
		in, err := readField(b, i)
		if err != nil {
			return 0, err
		}
		if in.num == metaManagedFields {
			n += in.end - i
		}
		i = in.end
	}
	return n, nil
}
