package json

import "sluice/codec/projection"

// typeMeta is the projection without kind and apiVersion.
var typeMeta = &projection.Tree{Root: &projection.Node{Fields: map[string]*projection.Node{"kind": {Whole: true}, "apiVersion": {Whole: true}}}}

// AppendWithoutTypeMeta appends obj without its kind and apiVersion, with the errors of AppendProjected: the form of
// an item in a list of a built-in resource.
func AppendWithoutTypeMeta(dst, obj []byte) ([]byte, error) {
	return AppendProjected(dst, obj, typeMeta)
}

// AppendTypeMeta appends the beginning of a typed object: {"kind":…,"apiVersion":…
func AppendTypeMeta(dst []byte, apiVersion, kind string) []byte {
	dst = AppendString(append(dst, `{"kind":`...), kind)
	return AppendString(append(dst, `,"apiVersion":`...), apiVersion)
}

// AppendWithTypeMeta appends obj with this kind and apiVersion in front, instead of those that it
// had: the form of a single object of a built-in resource.
//
//	{"kind":"Pod","apiVersion":"v1","metadata":…
//
// It has the errors of AppendProjected; dst is then returned unchanged.
func AppendWithTypeMeta(dst, obj []byte, apiVersion, kind string) ([]byte, error) {
	out := AppendTypeMeta(dst, apiVersion, kind)
	head := len(out)
	out, err := AppendWithoutTypeMeta(out, obj)
	switch {
	case err != nil:
		return dst, err
	case out[head+1] == '}':
		return append(out[:head], '}'), nil
	}
	out[head] = ','
	return out, nil
}

// AppendWithResourceVersion appends obj with rv as metadata.resourceVersion and every other byte
// unchanged. DELETED events need it: they have the last content of the object with the resource
// version of the deletion.
//
// The error is ErrNoField if obj has no metadata.resourceVersion; dst is then returned unchanged.
func AppendWithResourceVersion(dst, obj []byte, rv string) ([]byte, error) {
	at, v := 0, Value(obj)
	for _, name := range []string{"metadata", "resourceVersion"} {
		m := membersOf(v)
		for found := false; !found; found = m.is(name) {
			if !m.next() {
				return dst, At(ErrNoField, "metadata.resourceVersion", at)
			}
		}
		at, v = at+m.start, m.val
	}
	dst = AppendString(append(dst, obj[:at]...), rv)
	return append(dst, obj[at+len(v):]...), nil
}
