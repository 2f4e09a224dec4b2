package proto

import (
	"bytes"
	"slices"
)

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

// sortEntries pushes the entries of a map on the stack tc.entries, sorted by key, and returns the
// index of the first. Of entries with the same key the last one counts.
func (tc *transcoder) sortEntries(b []byte, s span, f *planField, p *plan) (low int, err error) {
	low = len(tc.entries)
	end := int(s.end)
	for i, stop := nextElement(b, int(s.start), end, f); i >= 0; i, stop = nextElement(b, stop, end, f) {
		m, err := tc.readMapEntry(b[i:stop], f, p)
		if err != nil {
			return low, err
		}
		tc.entries = append(tc.entries, m)
	}
	mine := tc.entries[low:]
	slices.Reverse(mine) // so that the last of equal keys comes first
	slices.SortStableFunc(mine, func(x, y mapEntry) int { return bytes.Compare(x.key, y.key) })
	mine = slices.CompactFunc(mine, func(x, y mapEntry) bool { return bytes.Equal(x.key, y.key) })
	tc.entries = tc.entries[:low+len(mine)]
	return low, nil
}

// popEntries pops the entries from index low on. It clears them, because they alias the object and
// tc outlives it.
func (tc *transcoder) popEntries(low int) {
	clear(tc.entries[low:])
	tc.entries = tc.entries[:low]
}
