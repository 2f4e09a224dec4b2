package proto

import (
	"bytes"
	"encoding/binary"
	"math"

	"sluice/codec/cbor"
)

// number decodes the number at s, which indexFields has validated, and truncates it to its Go type.
func number(b []byte, s span, o op) uint64 {
	if o == opFloat64 {
		return binary.LittleEndian.Uint64(b[s.start:])
	}
	v, _ := varint(b, int(s.start))
	if o == opInt32 || o == opUint32 {
		v = uint64(uint32(v))
	}
	return v
}

// appendNumber appends a number or bool. Error: ErrValue for NaN and infinities.
func (c *scalars) appendNumber(dst []byte, o op, v uint64, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opInt32:
		return c.appendInt(dst, int64(int32(v))), nil
	case opInt64:
		return c.appendInt(dst, int64(v)), nil
	case opBool:
		return c.appendBool(dst, v != 0), nil
	case opUint32:
		return c.appendUint(dst, uint64(uint32(v))), nil
	case opUint64:
		return c.appendUint(dst, v), nil
	}
	x := math.Float64frombits(v)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return dst, c.errorAt(ErrValue, p, b, 0)
	}
	return c.appendFloat(dst, x), nil
}

// appendStringList appends a slice type that is a message of its own.
func (c *scalars) appendStringList(dst, b []byte, p *plan) ([]byte, error) {
	n, err := c.checkStringList(b, p)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = c.openList(dst, cbor.Array, n)
	for i := 0; i < len(b); {
		f, _ := readField(b, i) // checked
		dst = c.appendString(c.appendComma(dst), b[f.start:f.end])
		i = f.end
	}
	return c.closeList(dst, cbor.Array, start), nil
}

// appendElements appends a slice; its length is known from the index.
func (tc *transcoder) appendElements(dst, b []byte, s span, f *planField, p *plan) (_ []byte, err error) {
	start, end := len(dst), int(s.end)
	dst = tc.openList(dst, cbor.Array, int(s.n))
	if f.elem.wireType() != wireBytes {
		dst, err = tc.appendNumbers(dst, b, s, f, p)
		return tc.closeList(dst, cbor.Array, start), err
	}
	for i, stop := nextElement(b, int(s.start), end, f); i >= 0; i, stop = nextElement(b, stop, end, f) {
		if dst, err = tc.appendValue(tc.appendComma(dst), f.elem, f.sub, b[i:stop], p); err != nil {
			return dst, err
		}
	}
	return tc.closeList(dst, cbor.Array, start), nil
}

// appendNumbers appends the elements of a slice of numbers or bools, packed or not.
func (c *scalars) appendNumbers(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	for i := int(s.start); i < int(s.end); {
		w, err := readField(b, i)
		switch {
		case err != nil:
			return dst, c.errorAt(err, p, b, i)
		case w.num != f.num:
		case w.typ == wireBytes:
			dst, err = c.appendPacked(dst, b[w.start:w.end], f, p)
		default:
			dst, err = c.appendNumber(c.appendComma(dst), f.elem, w.value, b, p)
		}
		if err != nil {
			return dst, err
		}
		i = w.end
	}
	return dst, nil
}

// appendPacked appends the numbers of one packed field.
func (c *scalars) appendPacked(dst, b []byte, f *planField, p *plan) (_ []byte, err error) {
	for i := 0; i < len(b) && err == nil; {
		var v uint64
		if v, i = nextPacked(b, i, f.elem); i < 0 {
			return dst, c.errorAt(varintError(i), p, b, 0)
		}
		dst, err = c.appendNumber(c.appendComma(dst), f.elem, v, b, p)
	}
	return dst, err
}

// nextPacked reads the number at b[i] of a packed field and returns the index after it, which is
// negative on error as in varint.
func nextPacked(b []byte, i int, o op) (uint64, int) {
	if o != opFloat64 {
		return varint(b, i)
	}
	if i+8 > len(b) {
		return 0, -1
	}
	return binary.LittleEndian.Uint64(b[i:]), i + 8
}

// appendMap appends a map with sorted keys. The apiserver writes them sorted, so that no key occurs
// twice; only other maps are collected and sorted here.
func (tc *transcoder) appendMap(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	start, end := len(dst), int(s.end)
	dst = tc.openList(dst, cbor.Map, int(s.n))
	var last []byte
	for i, stop := nextElement(b, int(s.start), end, f); i >= 0; i, stop = nextElement(b, stop, end, f) {
		m, err := tc.readMapEntry(b[i:stop], f, p)
		if err != nil {
			return dst, err
		}
		if last != nil && bytes.Compare(last, m.key) >= 0 {
			return tc.appendUnsortedMap(dst[:start], b, s, f, p)
		}
		last = m.key
		if dst, err = tc.appendMapEntry(dst, m, f, p); err != nil {
			return dst, err
		}
	}
	return tc.closeList(dst, cbor.Map, start), nil
}

// appendMapEntry appends one member of a map.
func (tc *transcoder) appendMapEntry(dst []byte, m mapEntry, f *planField, p *plan) ([]byte, error) {
	dst = tc.appendKey(dst, m.key)
	switch {
	case !m.hasValue:
		return append(dst, f.out[tc.notation].absentValue...), nil
	case f.elem == opString:
		return tc.appendString(dst, m.value), nil
	case f.elem.wireType() != wireBytes:
		return tc.appendNumber(dst, f.elem, m.number, nil, p)
	}
	return tc.appendValue(dst, f.elem, f.sub, m.value, p)
}

// appendUnsortedMap appends a map whose keys are out of order or occur twice.
func (tc *transcoder) appendUnsortedMap(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	low, err := tc.sortEntries(b, s, f, p)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = tc.openList(dst, cbor.Map, len(tc.entries)-low)
	for i := low; i < len(tc.entries); i++ { // tc.entries may be reallocated meanwhile
		if dst, err = tc.appendMapEntry(dst, tc.entries[i], f, p); err != nil {
			return dst, err
		}
	}
	tc.popEntries(low)
	return tc.closeList(dst, cbor.Map, start), nil
}
