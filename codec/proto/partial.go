package proto

// PartialObjectMetadata returns the raw PartialObjectMetadata of a raw object: a message
// whose one field is the object's metadata. In what the apiserver sends that is
// the object's beginning, and the result aliases it. Errors: as of ObjectMeta.
func PartialObjectMetadata(raw []byte) ([]byte, error) {
	b, err := metadata(raw)
	if err != nil {
		return nil, err
	}
	head := bytesSize(len(b)) - len(b)
	if n := head + len(b); len(b) > 0 && n <= len(raw) && &raw[head] == &b[0] {
		return raw[:n:n], nil
	}
	return appendBytes(nil, objectMeta, b), nil
}

// AppendPartialObjectMetadata appends the raw PartialObjectMetadata of a raw object. An
// object without metadata gets empty metadata. Errors: as of ObjectMeta.
func AppendPartialObjectMetadata(dst, raw []byte) ([]byte, error) {
	b, err := metadata(raw)
	if err != nil {
		return dst, err
	}
	return appendBytes(dst, objectMeta, b), nil
}
