package proto

import (
	"bytes"
	"slices"

	"sluice/codec/json"
)

// A pair is one entry of a map, taken apart.
type pair struct {
	key      []byte
	value    []byte
	number   uint64 // the value, if it is a number
	hasValue bool
}

// readPair takes a map entry apart. Errors: as of readField; ErrUnknownField,
// ErrWireType.
func (r *run) readPair(b []byte, f *planField, p *plan) (m pair, err error) {
	m.key = b[:0:0] // never nil
	if n := len(b); n >= 4 && b[0] == entryKey<<3|wireBytes && b[1] < 0x80 {
		// The rule: key and value as bytes, each with a length of one byte.
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
			return m, r.fail(err, p, b, i)
		case w.num == entryKey && w.typ == wireBytes:
			m.key = b[w.start:w.end]
		case w.num == entryValue && w.typ == int(f.elem.wireType()):
			m.value, m.number, m.hasValue = b[w.start:w.end], w.value, true
		case w.num > entryValue:
			return m, r.failField(ErrUnknownField, p, uint64(w.num), b, i)
		default:
			return m, r.fail(ErrWireType, p, b, i)
		}
		i = w.end
	}
	return m, nil
}

// jsonMap appends a map, keys sorted. On the wire they are, in all that the
// apiserver sends; only if not are they gathered and sorted here.
func (r *run) jsonMap(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	dst = append(dst, f.json.key...)
	start, end := len(dst), int(s.end)
	var last []byte
	for i, stop := element(b, int(s.start), end, f); i >= 0; i, stop = element(b, stop, end, f) {
		m, err := r.readPair(b[i:stop], f, p)
		if err != nil {
			return dst, err
		}
		if last != nil && bytes.Compare(last, m.key) >= 0 {
			return r.jsonUnsorted(dst[:start], b, s, f, p)
		}
		last = m.key
		if dst, err = r.jsonEntry(dst, m, f, p); err != nil {
			return dst, err
		}
	}
	return closeJSON(dst, start, '{', '}'), nil
}

// jsonEntry appends one member of a map, with a comma in front.
func (r *run) jsonEntry(dst []byte, m pair, f *planField, p *plan) ([]byte, error) {
	dst = append(json.AppendString(append(dst, ','), m.key), ':')
	if !m.hasValue {
		return append(dst, f.json.value...), nil
	}
	if f.elem.wireType() != wireBytes {
		return r.jsonNumber(dst, f.elem, m.number, nil, p)
	}
	return r.jsonValue(dst, f.elem, f.sub, m.value, p)
}

// jsonUnsorted appends a map whose keys are not in order, or come twice.
func (r *run) jsonUnsorted(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	low, err := r.sortPairs(b, s, f, p)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	for i := low; i < len(r.pairs); i++ { // r.pairs may move underneath
		if dst, err = r.jsonEntry(dst, r.pairs[i], f, p); err != nil {
			return dst, err
		}
	}
	r.dropPairs(low)
	return closeJSON(dst, start, '{', '}'), nil
}

// sortPairs gathers the entries of a map on the stack r.pairs, from the
// returned height on, sorted by key. Of equal keys it keeps the last.
func (r *run) sortPairs(b []byte, s span, f *planField, p *plan) (low int, err error) {
	low = len(r.pairs)
	end := int(s.end)
	for i, stop := element(b, int(s.start), end, f); i >= 0; i, stop = element(b, stop, end, f) {
		m, err := r.readPair(b[i:stop], f, p)
		if err != nil {
			return low, err
		}
		r.pairs = append(r.pairs, m)
	}
	mine := r.pairs[low:]
	slices.Reverse(mine) // so that the last of equal keys comes first
	slices.SortStableFunc(mine, func(x, y pair) int { return bytes.Compare(x.key, y.key) })
	mine = slices.CompactFunc(mine, func(x, y pair) bool { return bytes.Equal(x.key, y.key) })
	r.pairs = r.pairs[:low+len(mine)]
	return low, nil
}

// dropPairs pops the pairs above low. They alias the object, so they are
// cleared: r outlives it.
func (r *run) dropPairs(low int) {
	clear(r.pairs[low:])
	r.pairs = r.pairs[:low]
}
