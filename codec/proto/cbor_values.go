package proto

import (
	"bytes"
	"math"

	"sluice/codec/cbor"
)

// cborNumber appends a number or bool. Error: ErrValue for NaN and infinities.
func (tc *transcoder) cborNumber(dst []byte, o op, v uint64, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opInt32:
		return cbor.AppendInt(dst, int64(int32(v))), nil
	case opInt64:
		return cbor.AppendInt(dst, int64(v)), nil
	case opBool:
		return cbor.AppendBool(dst, v != 0), nil
	case opUint32:
		return cbor.AppendHead(dst, cbor.Uint, uint64(uint32(v))), nil
	case opUint64:
		return cbor.AppendHead(dst, cbor.Uint, v), nil
	}
	x := math.Float64frombits(v)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return dst, tc.errorAt(ErrValue, p, b, 0)
	}
	return cbor.AppendFloat(dst, x), nil
}

// cborStringList appends a slice type that is a message of its own.
func (tc *transcoder) cborStringList(dst, b []byte, p *plan) ([]byte, error) {
	if err := tc.checkStringList(b, p); err != nil {
		return dst, err
	}
	n := 0
	for i := 0; i < len(b); n++ {
		f, _ := readField(b, i) // checked
		i = f.end
	}
	dst = cbor.AppendArray(dst, n)
	for i := 0; i < len(b); {
		f, _ := readField(b, i)
		dst = cbor.AppendString(dst, b[f.start:f.end])
		i = f.end
	}
	return dst, nil
}

// cborElements appends a slice; its length is known from the index.
func (tc *transcoder) cborElements(dst, b []byte, s span, f *planField, p *plan) (_ []byte, err error) {
	dst = cbor.AppendArray(dst, int(s.n))
	if f.elem.wireType() != wireBytes {
		return tc.cborNumbers(dst, b, s, f, p)
	}
	end := int(s.end)
	for i, stop := nextElement(b, int(s.start), end, f); i >= 0; i, stop = nextElement(b, stop, end, f) {
		if dst, err = tc.cborValue(dst, f.elem, f.sub, b[i:stop], p); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// cborNumbers appends the elements of a slice of numbers or bools, packed or not.
func (tc *transcoder) cborNumbers(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	for i := int(s.start); i < int(s.end); {
		w, err := readField(b, i)
		switch {
		case err != nil:
			return dst, tc.errorAt(err, p, b, i)
		case w.num != f.num:
		case w.typ == wireBytes:
			dst, err = tc.cborPacked(dst, b[w.start:w.end], f, p)
		default:
			dst, err = tc.cborNumber(dst, f.elem, w.value, b, p)
		}
		if err != nil {
			return dst, err
		}
		i = w.end
	}
	return dst, nil
}

// cborPacked appends the numbers of one packed field.
func (tc *transcoder) cborPacked(dst, b []byte, f *planField, p *plan) (_ []byte, err error) {
	for i := 0; i < len(b) && err == nil; {
		var v uint64
		if v, i = nextPacked(b, i, f.elem); i < 0 {
			return dst, tc.errorAt(varintError(i), p, b, 0)
		}
		dst, err = tc.cborNumber(dst, f.elem, v, b, p)
	}
	return dst, err
}

// cborMap appends a map. If the keys are in order, as the apiserver writes them, no key occurs
// twice and the number of pairs is the number of entries.
func (tc *transcoder) cborMap(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	start := len(dst)
	dst = cbor.AppendMap(dst, int(s.n))
	var last []byte
	end := int(s.end)
	for i, stop := nextElement(b, int(s.start), end, f); i >= 0; i, stop = nextElement(b, stop, end, f) {
		m, err := tc.readMapEntry(b[i:stop], f, p)
		if err != nil {
			return dst, err
		}
		if last != nil && bytes.Compare(last, m.key) >= 0 {
			return tc.cborUnsortedMap(dst[:start], b, s, f, p)
		}
		last = m.key
		if dst, err = tc.cborMapEntry(dst, m, f, p); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// cborMapEntry appends one pair of a map.
func (tc *transcoder) cborMapEntry(dst []byte, m mapEntry, f *planField, p *plan) ([]byte, error) {
	dst = cbor.AppendString(dst, m.key)
	if !m.hasValue {
		return append(dst, f.cbor.absentValue...), nil
	}
	if f.elem.wireType() != wireBytes {
		return tc.cborNumber(dst, f.elem, m.number, nil, p)
	}
	return tc.cborValue(dst, f.elem, f.sub, m.value, p)
}

// cborUnsortedMap appends a map whose keys are out of order or occur twice.
func (tc *transcoder) cborUnsortedMap(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	low, err := tc.sortEntries(b, s, f, p)
	if err != nil {
		return dst, err
	}
	dst = cbor.AppendMap(dst, len(tc.entries)-low)
	for i := low; i < len(tc.entries); i++ { // tc.entries may be reallocated meanwhile
		if dst, err = tc.cborMapEntry(dst, tc.entries[i], f, p); err != nil {
			return dst, err
		}
	}
	tc.popEntries(low)
	return dst, nil
}
