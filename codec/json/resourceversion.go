package json

// AppendWithResourceVersion appends obj with rv as metadata.resourceVersion and every other byte
// unchanged. DELETED events need it: they have the last content of the object with the resource
// version of the deletion.
//
// The error is ErrNotObject, or ErrNoField if obj has no metadata.resourceVersion; dst is then
// returned unchanged.
func AppendWithResourceVersion(dst, obj []byte, rv string) ([]byte, error) {
	base, found := len(dst), false
	dst, err := appendWithout(dst, obj, "metadata", func(dst []byte, metadata Value) ([]byte, error) {
		if metadata.Kind() != Object {
			return dst, nil
		}
		return appendWithout(dst, metadata, "resourceVersion", func(dst []byte, _ Value) ([]byte, error) {
			found = true
			return AppendString(dst, rv), nil
		})
	})
	if err == nil && !found {
		err = At(ErrNoField, "metadata.resourceVersion", 0)
	}
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}
