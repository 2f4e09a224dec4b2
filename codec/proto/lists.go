package proto

import (
	"bytes"
	"encoding/binary"
	"math"
)

// number decodes the number at s, which indexFields has validated, and truncates it to its Go type.
func number(b []byte, s span, o op) uint64 {
	if o == opFloat64 {
		return binary.LittleEndian.Uint64(b[s.start:])
	}
	v, _ := varint(b, int(s.start))
	if o == opInt32 {
		v = uint64(uint32(v))
	}
	return v
}

// appendNumber appends a number or bool. Error: ErrValue for NaN and infinities.
func (to notation) appendNumber(dst []byte, o op, v uint64, p *plan) ([]byte, error) {
	switch o {
	case opInt32:
		return to.appendInt(dst, int64(int32(v))), nil
	case opInt64:
		return to.appendInt(dst, int64(v)), nil
	case opBool:
		return to.appendBool(dst, v != 0), nil
	}
	x := math.Float64frombits(v)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return dst, p.error(ErrValue)
	}
	return to.appendFloat(dst, x), nil
}

// appendStringList appends a slice type that is a message of its own.
func (to notation) appendStringList(dst, b []byte, p *plan) ([]byte, error) {
	n := 0
	if err := p.fieldsOf(b, allBytes[:1], func(field, []byte) { n++ }); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = to.openList(dst, n)
	for i := 0; i < len(b); {
		f, _ := readField(b, i) // checked
		dst = to.appendString(to.appendComma(dst), b[f.start:f.end])
		i = f.end
	}
	return to.closeList(dst, start), nil
}

// appendElements appends a slice; its length is known from the index.
func (tc *transcoder) appendElements(dst, b []byte, s span, f *planField, p *plan) (_ []byte, err error) {
	start, end := len(dst), int(s.end)
	dst = tc.openList(dst, int(s.n))
	if f.elem.wireType() != wireBytes {
		dst, err = tc.appendNumbers(dst, b, s, f, p)
		return tc.closeList(dst, start), err
	}
	for i, stop := nextElement(b, int(s.start), end, f); i >= 0; i, stop = nextElement(b, stop, end, f) {
		if dst, err = tc.appendValue(tc.appendComma(dst), f.elem, f.sub, b[i:stop], p); err != nil {
			return dst, err
		}
	}
	return tc.closeList(dst, start), nil
}

// appendNumbers appends the elements of a slice of numbers or bools.
func (to notation) appendNumbers(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	for i := int(s.start); i < int(s.end); {
		w, err := readField(b, i)
		switch {
		case err != nil:
			return dst, p.error(err)
		case w.num == f.num:
			dst, err = to.appendNumber(to.appendComma(dst), f.elem, w.value, p)
		}
		if err != nil {
			return dst, err
		}
		i = w.end
	}
	return dst, nil
}

// A mapEntry is one parsed entry of a map. Key and value alias the object.
type mapEntry struct {
	key   []byte
	value []byte // nil if there is none
}

// readMapEntry parses one entry of a map. Errors: the errors of readField, ErrUnknownField,
// ErrWireType.
func (p *plan) readMapEntry(b []byte) (m mapEntry, err error) {
	m.key = b[:0:0] // never nil
	if n := len(b); n >= 4 && b[0] == entryKey<<3|wireBytes && b[1] < 0x80 {
		// The common case: key and value, each with a length of one byte.
		k := 2 + int(b[1])
		if k+2 <= n && b[k] == entryValue<<3|wireBytes && b[k+1] < 0x80 && k+2+int(b[k+1]) == n {
			return mapEntry{b[2:k], b[k+2:]}, nil
		}
	}
	err = p.fieldsOf(b, allBytes[:entryValue], func(f field, v []byte) {
		if f.num == entryKey {
			m.key = v
		} else {
			m.value = v
		}
	})
	return m, err
}

// appendMap appends a map. The apiserver writes it with ascending keys.
func (tc *transcoder) appendMap(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	start, end, members := len(dst), int(s.end), 0
	dst = tc.openObject(dst)
	var last []byte
	for i, stop := nextElement(b, int(s.start), end, f); i >= 0; i, stop = nextElement(b, stop, end, f) {
		m, err := p.readMapEntry(b[i:stop])
		if err == nil && last != nil && bytes.Compare(last, m.key) >= 0 {
			err = p.fieldError(ErrForm, f.num)
		}
		if err != nil {
			return dst, err
		}
		last = m.key
		if !f.hasKey(m.key) {
			continue
		}
		members++
		dst = tc.appendKey(dst, m.key)
		if m.value == nil {
			dst = append(dst, f.out[tc.notation].absentValue...)
		} else if dst, err = tc.appendValue(dst, f.elem, f.sub, m.value, p); err != nil {
			return dst, err
		}
	}
	return tc.closeObject(dst, start, members), nil
}
