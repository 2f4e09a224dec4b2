package proto

import "math"

// Check looks through a raw object and reports whether all of it is known and
// can be encoded: AppendJSON does not fail on what it accepts. Neither does
// AppendCBOR, but for embedded JSON with a number that no float64 holds, which
// the apiserver cannot encode either.
//
// Errors: ErrUnknownField and ErrValue, for what a newer or odd sender may send;
// ErrTruncated, ErrVarint, ErrTag, ErrWireType, ErrTooDeep and ErrTooLarge, for
// what nobody may.
func (m *Schema) Check(raw []byte) error {
	r, err := newRun(raw)
	if err != nil {
		return err
	}
	defer r.free()
	if err := r.check(raw, m.plan); err != nil || !r.parts {
		return err
	}
	// Messages to be merged: what they come to is only seen by doing it.
	_, err = m.AppendJSON(nil, raw)
	return err
}

// check goes through the fields of a message in wire order.
//
// It is one loop with the common kinds of field in place, because it runs for
// every field of every object that arrives.
func (r *run) check(b []byte, p *plan) error {
	if err := r.enter(p, b); err != nil {
		return err
	}
	var parts set
	for i := 0; i < len(b); {
		// The rule: tag and length of a byte each, text.
		if i+1 < len(b) {
			tag, size := b[i], b[i+1]
			if num := int(tag >> 3); tag&0x87 == wireBytes && size < 0x80 && num < len(p.wire) && p.wire[num].leaf {
				if i += 2 + int(size); i > len(b) {
					return r.failField(ErrTruncated, p, uint64(num), b, i-2-int(size))
				}
				continue
			}
		}
		f, err := readField(b, i)
		if err != nil {
			return r.fail(err, p, b, i)
		}
		if f.num >= len(p.wire) || !p.wire[f.num].known {
			return r.failField(ErrUnknownField, p, uint64(f.num), b, i)
		}
		w := &p.wire[f.num]
		if f.typ != int(w.typ) {
			if _, err := packed(b[f.start:f.end], w, uint64(f.typ)); err != nil {
				return r.failField(err, p, uint64(f.num), b, i)
			}
		}
		if !w.many && w.typ == wireBytes {
			r.parts = r.parts || parts.has(w.field)
			parts.add(w.field)
		}
		if !w.leaf && w.typ != wireVarint {
			if err := r.checkField(b[f.start:f.end], f.typ, f.value, &p.fields[w.field], p); err != nil {
				return err
			}
		}
		i = f.end
	}
	r.depth--
	return nil
}

// checkField checks the payload of one field.
func (r *run) checkField(payload []byte, typ int, number uint64, f *planField, p *plan) error {
	switch {
	case f.op == opRepeated && f.elem == opFloat64 && typ == wireBytes:
		return r.checkPacked(payload, p)
	case f.op == opRepeated:
		return r.checkValue(f.elem, f.sub, payload, number, p)
	case f.op == opMap:
		m, err := r.readPair(payload, f, p)
		if err != nil || !m.hasValue {
			return err
		}
		return r.checkValue(f.elem, f.sub, m.value, m.number, p)
	}
	return r.checkValue(f.op, f.sub, payload, number, p)
}

// checkPacked checks the numbers of a packed field of floats.
func (r *run) checkPacked(b []byte, p *plan) error {
	for i := 0; i+8 <= len(b); i += 8 {
		v, _ := nextPacked(b, i, opFloat64)
		if err := r.checkValue(opFloat64, nil, nil, v, p); err != nil {
			return err
		}
	}
	return nil
}

// checkValue checks one value: a field, an element or a value of a map.
func (r *run) checkValue(o op, sub *plan, b []byte, number uint64, p *plan) (err error) {
	switch o {
	case opMessage, opInline, opSchemaOrBool, opSchemaOrArray, opSchemaOrStrings:
		return r.check(b, sub)
	case opFloat64:
		if x := math.Float64frombits(number); math.IsNaN(x) || math.IsInf(x, 0) {
			return r.fail(ErrValue, p, b, 0)
		}
	case opNames:
		return r.checkNames(b, p)
	case opTime, opMicroTime:
		_, err = r.readStamp(b, p)
	case opDuration:
		_, err = r.readDuration(b, p)
	case opIntOrString:
		_, err = r.readIntOrString(b, p)
	case opQuantity:
		var scratch [64]byte
		_, err = r.quantity(scratch[:0], b, p)
	case opRawExtension, opFieldsV1, opSchemaJSON:
		return r.checkEmbedded(o, b, p)
	}
	return err
}

// checkNames checks a slice type that is a message of its own.
func (r *run) checkNames(b []byte, p *plan) error {
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		if err == nil && (f.num != 1 || f.typ != wireBytes) {
			err = ErrUnknownField
		}
		if err != nil {
			return r.fail(err, p, b, i)
		}
		i = f.end
	}
	return nil
}

// checkEmbedded checks JSON inside of a message by printing it into scratch.
func (r *run) checkEmbedded(o op, b []byte, p *plan) error {
	raw, err := r.embedded(o, b, p)
	if err != nil || raw == nil {
		return err
	}
	if r.scratch, err = appendEmbedded(r.scratch[:0], raw); err != nil {
		return r.fail(err, p, raw, 0)
	}
	return nil
}
