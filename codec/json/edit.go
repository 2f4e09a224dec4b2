package json

// appendWithout appends obj with the first member of a name replaced by the output of edit.
func appendWithout(dst, obj []byte, name string, edit func(dst []byte, v Value) ([]byte, error)) ([]byte, error) {
	base := len(dst)
	m := membersOf(obj)
	if m.bad {
		return dst, At(ErrNotObject, "object", m.pos)
	}
	for m.next() {
		if !m.is(name) {
			continue
		}
		dst, err := edit(append(dst, obj[:m.start]...), m.val)
		if err != nil {
			return dst[:base], err
		}
		return append(dst, obj[m.start+len(m.val):]...), nil
	}
	if m.bad {
		return dst, At(ErrSyntax, "object", m.pos)
	}
	return append(dst, obj...), nil
}

// appendWithoutMembers appends v, if it is an object, without the members of these names. Errors
// name v by the second string.
func appendWithoutMembers(dst []byte, v Value, what string, names ...string) ([]byte, error) {
	if v.Kind() != Object {
		return append(dst, v...), nil
	}
	m := membersOf(v)
	dst = append(dst, v[:m.pos]...)
	end, last := len(dst), true // the end of the last member that is kept; whether the last member is
	for m.next() {
		if last = !m.isAny(names); !last {
			continue
		}
		after := m.start + len(m.val)
		dst = append(dst, v[m.nameAt:after]...)
		end = len(dst)
		dst = append(dst, v[after:m.pos]...)
	}
	if m.bad {
		return dst, At(ErrSyntax, what, m.pos)
	}
	if !last {
		dst = dst[:end]
	}
	return append(dst, v[m.pos:]...), nil
}

// isAny reports whether the name of the current member is one of names.
func (m *members) isAny(names []string) bool {
	for _, name := range names {
		if m.is(name) {
			return true
		}
	}
	return false
}

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
