package proto

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"sluice/codec/json"
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

// jsonNumber appends a number or bool. Error: ErrValue for NaN and infinities.
func (tc *transcoder) jsonNumber(dst []byte, o op, v uint64, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opInt32:
		return strconv.AppendInt(dst, int64(int32(v)), 10), nil
	case opInt64:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case opBool:
		return strconv.AppendBool(dst, v != 0), nil
	case opUint32:
		return strconv.AppendUint(dst, uint64(uint32(v)), 10), nil
	case opUint64:
		return strconv.AppendUint(dst, v, 10), nil
	}
	x := math.Float64frombits(v)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return dst, tc.errorAt(ErrValue, p, b, 0)
	}
	return json.AppendFloat(dst, x), nil
}

// appendBase64 appends bytes as encoding/json prints them.
func appendBase64(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}

// jsonStringList appends a slice type that is a message of its own.
func (tc *transcoder) jsonStringList(dst, b []byte, p *plan) ([]byte, error) {
	start := len(dst)
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		if err != nil {
			return dst, tc.errorAt(err, p, b, i)
		}
		if f.num != 1 || f.typ != wireBytes {
			return dst, tc.fieldErrorAt(ErrUnknownField, p, uint64(f.num), b, i)
		}
		dst = json.AppendString(append(dst, ','), b[f.start:f.end])
		i = f.end
	}
	return closeJSON(dst, start, '[', ']'), nil
}

// jsonElements appends a slice.
func (tc *transcoder) jsonElements(dst, b []byte, s span, f *planField, p *plan) (_ []byte, err error) {
	if f.elem.wireType() != wireBytes {
		return tc.jsonNumbers(dst, b, s, f, p)
	}
	first, end := len(dst), int(s.end)
	for i, stop := nextElement(b, int(s.start), end, f); i >= 0; i, stop = nextElement(b, stop, end, f) {
		if dst, err = tc.jsonValue(append(dst, ','), f.elem, f.sub, b[i:stop], p); err != nil {
			return dst, err
		}
	}
	return closeJSON(dst, first, '[', ']'), nil
}

// jsonNumbers appends a slice of numbers or bools, packed or not.
func (tc *transcoder) jsonNumbers(dst, b []byte, s span, f *planField, p *plan) (_ []byte, err error) {
	first := len(dst)
	for i := int(s.start); i < int(s.end); {
		w, err := readField(b, i)
		switch {
		case err != nil:
			return dst, tc.errorAt(err, p, b, i)
		case w.num != f.num:
		case w.typ == wireBytes:
			dst, err = tc.jsonPacked(dst, b[w.start:w.end], f, p)
		default:
			dst, err = tc.jsonNumber(append(dst, ','), f.elem, w.value, b, p)
		}
		if err != nil {
			return dst, err
		}
		i = w.end
	}
	return closeJSON(dst, first, '[', ']'), nil
}

// jsonPacked appends the numbers of one packed field.
func (tc *transcoder) jsonPacked(dst, b []byte, f *planField, p *plan) (_ []byte, err error) {
	for i := 0; i < len(b) && err == nil; {
		var v uint64
		if v, i = nextPacked(b, i, f.elem); i < 0 {
			return dst, tc.errorAt(varintError(i), p, b, 0)
		}
		dst, err = tc.jsonNumber(append(dst, ','), f.elem, v, b, p)
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

// jsonMap appends a map with sorted keys. The apiserver writes them sorted; only other maps are
// collected and sorted here.
func (tc *transcoder) jsonMap(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	dst = append(dst, f.json.key...)
	start, end := len(dst), int(s.end)
	var last []byte
	for i, stop := nextElement(b, int(s.start), end, f); i >= 0; i, stop = nextElement(b, stop, end, f) {
		m, err := tc.readMapEntry(b[i:stop], f, p)
		if err != nil {
			return dst, err
		}
		if last != nil && bytes.Compare(last, m.key) >= 0 {
			return tc.jsonUnsortedMap(dst[:start], b, s, f, p)
		}
		last = m.key
		if dst, err = tc.jsonMapEntry(dst, m, f, p); err != nil {
			return dst, err
		}
	}
	return closeJSON(dst, start, '{', '}'), nil
}

// jsonMapEntry appends one member of a map, preceded by a comma.
func (tc *transcoder) jsonMapEntry(dst []byte, m mapEntry, f *planField, p *plan) ([]byte, error) {
	dst = append(json.AppendString(append(dst, ','), m.key), ':')
	if !m.hasValue {
		return append(dst, f.json.absentValue...), nil
	}
	if f.elem.wireType() != wireBytes {
		return tc.jsonNumber(dst, f.elem, m.number, nil, p)
	}
	return tc.jsonValue(dst, f.elem, f.sub, m.value, p)
}

// jsonUnsortedMap appends a map whose keys are out of order or occur twice.
func (tc *transcoder) jsonUnsortedMap(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	low, err := tc.sortEntries(b, s, f, p)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	for i := low; i < len(tc.entries); i++ { // tc.entries may be reallocated meanwhile
		if dst, err = tc.jsonMapEntry(dst, tc.entries[i], f, p); err != nil {
			return dst, err
		}
	}
	tc.popEntries(low)
	return closeJSON(dst, start, '{', '}'), nil
}
