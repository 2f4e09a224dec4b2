package proto

import (
	"bytes"
	"math"
)

// Check reports whether every field of a raw object is known and every value can be encoded:
// AppendJSON does not fail on an object that passes. Nor does AppendCBOR, except for embedded JSON
// with a number that fits no float64, which the apiserver cannot encode either.
//
// Errors: ErrUnknownField, ErrForm and ErrValue for objects of a newer or unusual sender; ErrTruncated,
// ErrVarint, ErrTag, ErrWireType, ErrTooDeep and ErrTooLarge for invalid bytes.
func (s *Schema) Check(raw []byte) error {
	tc, err := newTranscoder(raw)
	if err != nil {
		return err
	}
	defer tc.free()
	return tc.check(raw, s.plan)
}

// check walks the fields of a message in wire order.
//
// The common kinds of field are handled in the loop itself, because it runs for every field of
// every object that arrives.
func (tc *transcoder) check(b []byte, p *plan) error {
	if err := tc.enter(p); err != nil {
		return err
	}
	var seen set         // the messages and maps that have begun
	var lastKey []byte   // of the map whose entries are read
	lastMap := maxFields // its field
	for i := 0; i < len(b); {
		// The common case: tag and length of one byte each, and a string.
		if i+1 < len(b) {
			tag, size := b[i], b[i+1]
			if num := int(tag >> 3); tag&0x87 == wireBytes && size < 0x80 && num < len(p.wire) && p.wire[num].opaque {
				if i += 2 + int(size); i > len(b) {
					return p.fieldError(ErrTruncated, num)
				}
				continue
			}
		}
		f, err := readField(b, i)
		if err != nil {
			return p.error(err)
		}
		if f.num >= len(p.wire) || !p.wire[f.num].known {
			return p.fieldError(ErrUnknownField, f.num)
		}
		w := &p.wire[f.num]
		if f.typ != int(w.typ) {
			return p.fieldError(wrongType(w, f.typ), f.num)
		}
		pf := &p.fields[w.field]
		switch {
		case pf.op == opMap:
			m, err := p.readMapEntry(b[f.start:f.end])
			if err != nil {
				return err
			}
			if lastMap != int(w.field) && seen.has(w.field) || lastMap == int(w.field) && bytes.Compare(lastKey, m.key) >= 0 {
				return p.fieldError(ErrForm, f.num)
			}
			seen.add(w.field)
			lastMap, lastKey = int(w.field), m.key
			if m.value == nil {
				break
			}
			if err := tc.checkValue(pf.elem, pf.sub, m.value, 0, p); err != nil {
				return err
			}
		case !w.opaque && w.typ != wireVarint:
			if !w.repeated && seen.has(w.field) {
				return p.fieldError(ErrForm, f.num)
			}
			seen.add(w.field)
			o := pf.op
			if o == opRepeated {
				o = pf.elem
			}
			if err := tc.checkValue(o, pf.sub, b[f.start:f.end], f.value, p); err != nil {
				return err
			}
		}
		i = f.end
	}
	tc.depth--
	return nil
}

// checkValue checks one value: a field, an element of a slice or a value of a map. Values that are not
// written as they are are written into scratch space.
func (tc *transcoder) checkValue(o op, sub *plan, b []byte, number uint64, p *plan) (err error) {
	switch {
	case o == opMessage, o == opInline, o == opSchemaOrBool, o == opSchemaOrArray, o == opSchemaOrStrings:
		return tc.check(b, sub)
	case o == opFloat64:
		if x := math.Float64frombits(number); math.IsNaN(x) || math.IsInf(x, 0) {
			return p.error(ErrValue)
		}
	case o >= opStringList:
		tc.scratch, err = tc.appendValue(tc.scratch[:0], o, sub, b, p)
	}
	return err
}
