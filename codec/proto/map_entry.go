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
	for i := 0; i < len(b); {
		w, err := readField(b, i)
		switch {
		case err != nil:
			return m, src.errorAt(err, p, b, i)
		case w.num == entryKey && w.typ == wireBytes:
			m.key = b[w.start:w.end]
		case w.num == entryValue && w.typ == int(f.elem.wireType()):
			m.value, m.number, m.hasValue = b[w.start:w.end], w.value, true
		case w.num > entryValue:
			return m, src.fieldErrorAt(ErrUnknownField, p, uint64(w.num), b, i)
		default:
			return m, src.errorAt(ErrWireType, p, b, i)
		}
		i = w.end
	}
	return m, nil
}
