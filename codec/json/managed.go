package json

// AppendWithoutManagedFields appends obj without metadata.managedFields and with every other byte
// unchanged, for clients that ask the apiserver to drop managed fields (KEP-5958).
//
// The error is ErrNotObject or ErrSyntax; dst is then returned unchanged.
func AppendWithoutManagedFields(dst, obj []byte) ([]byte, error) {
	m := membersOf(obj)
	if m.bad {
		return dst, at(ErrNotObject, "object", m.pos)
	}
	for m.next() {
		if !m.is("metadata") {
			continue
		}
		from, to, ok := findManaged(m.val)
		if !ok {
			return dst, at(ErrSyntax, "metadata", m.start)
		}
		dst = append(dst, obj[:m.start+from]...)
		return append(dst, obj[m.start+to:]...), nil
	}
	if m.bad {
		return dst, at(ErrSyntax, "object", m.pos)
	}
	return append(dst, obj...), nil
}

// findManaged returns the range to cut out of a metadata object: managedFields and the comma after
// it or, if it is the last member, before it. The range is empty if there are no managedFields.
func findManaged(metadata Value) (from, to int, ok bool) {
	if metadata.Kind() != Object {
		return 0, 0, true
	}
	in, before := membersOf(metadata), 0
	for in.next() {
		if !in.is("managedFields") {
			before = in.start + len(in.val)
			continue
		}
		if in.b[in.pos] == '}' && before > 0 {
			return before, in.pos, true
		}
		return in.nameAt, in.pos, true
	}
	return 0, 0, !in.bad
}
