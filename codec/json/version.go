package json

// SetResourceVersion appends obj to dst with another value in
// metadata.resourceVersion and every other byte as it is. A DELETED event
// needs that: it carries the previous content with the version of the
// deletion.
//
// The error is ErrNotObject, or ErrNoField if the object has no
// metadata.resourceVersion; dst is then returned unchanged.
func SetResourceVersion(dst, obj []byte, rv string) ([]byte, error) {
	m := membersOf(obj)
	if m.bad {
		return dst, at(ErrNotObject, "object", m.pos)
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
	return dst, at(ErrNoField, "metadata.resourceVersion", m.pos)
}
