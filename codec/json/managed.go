package json

// AppendUnmanaged appends obj without its metadata.managedFields, every other
// byte as it is (KEP-5958).
//
// The error is ErrNotObject or ErrSyntax, if the walk to there met something
// malformed; dst is then returned unchanged.
func AppendUnmanaged(dst, obj []byte) ([]byte, error) {
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

// findManaged returns what to cut out of a metadata object: managedFields with
// the comma behind it or, if it is the last member, the one before it. Nothing
// is to be cut where from equals to.
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
