package json

// AppendWithResourceVersion appends obj with rv as metadata.resourceVersion and every other byte
// unchanged. DELETED events need it: they have the last content of the object with the resource
// version of the deletion.
//
// The error is ErrNotObject, or ErrNoField if obj has no metadata.resourceVersion; dst is then
// returned unchanged.
func AppendWithResourceVersion(dst, obj []byte, rv string) ([]byte, error) {
	m := membersOf(obj)
	if m.bad {
		return dst, At(ErrNotObject, "object", m.pos)
	}
	for m.next() {
		if !m.is("metadata") {
			continue
		}
		for in := membersOf(m.val); in.next(); {
			if in.is("resourceVersion") {
				start := m.start + in.start
				dst = append(dst, obj[:start]...)
				dst = AppendString(dst, rv)
				return append(dst, obj[start+len(in.val):]...), nil
			}
		}
		break
	}
	return dst, At(ErrNoField, "metadata.resourceVersion", m.pos)
}
