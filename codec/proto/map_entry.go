package proto

// A mapEntry is one parsed entry of a map. Key and value alias the object.
type mapEntry struct {
	key      []byte
	value    []byte
	number   uint64 // the value, if it is a number
	hasValue bool
}

// readMapEntry parses one entry of a map. Errors: the errors of readField, ErrUnknownField,
// ErrWireType.
func (src *source) readMapEntry(b []byte, f *planField, p *plan) (m mapEntry, err error) {
	m.key = b[:0:0] // never nil
	if n := len(b); n >= 4 && b[0] == entryKey<<3|wireBytes && b[1] < 0x80 {
		// The common case: key and value as bytes, each with a length of one byte.
		k := 2 + int(b[1])
		if k+2 <= n && b[k] == entryValue<<3|wireBytes && b[k+1] < 0x80 && k+2+int(b[k+1]) == n && f.elem.wireType() == wireBytes {
			m.key, m.value, m.hasValue = b[2:k], b[k+2:], true
			return m, nil
		}
	}
	types := [...]uint8{wireBytes, f.elem.wireType()}
	err = src.fields(b, p, types[:], func(w field, v []byte) {
		if w.num == entryKey {
			m.key = v
		} else {
			m.value, m.number, m.hasValue = v, w.value, true
		}
	})
	return m, err
}
