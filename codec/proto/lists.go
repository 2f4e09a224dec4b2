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
	n := 0
	if err := c.fields(b, p, allBytes[:1], func(field, []byte) { n++ }); err != nil {
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

// appendNumbers appends the elements of a slice of numbers or bools.
func (c *scalars) appendNumbers(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	for i := int(s.start); i < int(s.end); {
		w, err := readField(b, i)
		switch {
		case err != nil:
			return dst, c.errorAt(err, p, b, i)
		case w.num == f.num:
			dst, err = c.appendNumber(c.appendComma(dst), f.elem, w.value, b, p)
		}
		if err != nil {
			return dst, err
		}
		i = w.end
	}
	return dst, nil
}

// appendMap appends a map. The apiserver writes it with ascending keys.
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
			return dst, tc.fieldErrorAt(ErrForm, p, uint64(f.num), b, i)
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
