package json

// AppendWithoutTypeMeta appends obj without its kind and apiVersion and with every other byte
// unchanged: the form of an item in a list of a built-in resource.
//
// The error is ErrNotObject or ErrSyntax; dst is then returned unchanged.
func AppendWithoutTypeMeta(dst, obj []byte) ([]byte, error) {
	if Value(obj).Kind() != Object {
		return dst, At(ErrNotObject, "object", 0)
	}
	base := len(dst)
	dst, err := appendWithoutMembers(dst, obj, "object", "kind", "apiVersion")
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}

// AppendWithTypeMeta appends obj with this kind and apiVersion in front, instead of those that it
// had: the form of a single object of a built-in resource.
//
//	{"kind":"Pod","apiVersion":"v1","metadata":…
//
// The error is ErrNotObject or ErrSyntax; dst is then returned unchanged.
func AppendWithTypeMeta(dst, obj []byte, apiVersion, kind string) ([]byte, error) {
	base := len(dst)
	dst = AppendString(append(dst, `{"kind":`...), kind)
	dst = AppendString(append(dst, `,"apiVersion":`...), apiVersion)
	head := len(dst)
	dst, err := AppendWithoutTypeMeta(dst, obj)
	if err != nil {
		return dst[:base], err
	}
	if dst[skipSpace(dst, head+1)] == '}' {
		return append(dst[:head], '}'), nil
	}
	dst[head] = ','
	return dst, nil
}
