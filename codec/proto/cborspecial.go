package proto

import "sluice/codec/cbor"

// cborSpecial appends a value of a type that prints itself.
func (r *run) cborSpecial(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opTime:
		return r.cborTime(dst, b, p)
	case opMicroTime:
		return r.cborMicroTime(dst, b, p)
	case opDuration:
		d, err := r.readDuration(b, p)
		if err != nil {
			return dst, err
		}
		return cbor.AppendString(dst, d.String()), nil
	case opQuantity:
		return r.cborQuantity(dst, b, p)
	case opIntOrString:
		return r.cborIntOrString(dst, b, p)
	case opSchemaOrBool, opSchemaOrArray, opSchemaOrStrings:
		return r.cborSchemaOr(dst, o, sub, b)
	}
	raw, err := r.embedded(o, b, p)
	switch {
	case err != nil:
		return dst, err
	case raw == nil:
		return append(dst, cbor.Null), nil
	}
	if dst, err = cbor.AppendFromJSON(dst, raw); err != nil {
		return dst, r.fail(err, p, raw, 0)
	}
	return dst, nil
}

// cborTimeField appends a member that is a Time or MicroTime, unless it is a
// zero Time and omitzero, and returns whether it did: 0 or 1.
func (r *run) cborTimeField(dst, b []byte, f *planField, p *plan) ([]byte, int, error) {
	if f.omitZero {
		if t, err := r.readStamp(b, p); err != nil || t.seconds == zeroTime {
			return dst, 0, err
		}
	}
	dst, err := r.cborSpecial(append(dst, f.cbor.key...), f.op, nil, b, p)
	return dst, 1, err
}

func (r *run) cborTime(dst, b []byte, p *plan) ([]byte, error) {
	t, err := r.readStamp(b, p)
	if err != nil {
		return dst, err
	}
	if t.seconds == zeroTime {
		return append(dst, cbor.Null), nil
	}
	r.scratch = t.appendSeconds(r.scratch[:0])
	return cbor.AppendString(dst, r.scratch), nil
}

func (r *run) cborMicroTime(dst, b []byte, p *plan) ([]byte, error) {
	t, err := r.readStamp(b, p)
	if err != nil {
		return dst, err
	}
	if t.micro().IsZero() {
		return append(dst, cbor.Null), nil
	}
	r.scratch = t.appendMicros(r.scratch[:0])
	return cbor.AppendString(dst, r.scratch), nil
}

func (r *run) cborQuantity(dst, b []byte, p *plan) ([]byte, error) {
	var err error
	if r.scratch, err = r.quantity(r.scratch[:0], b, p); err != nil {
		return dst, err
	}
	return cbor.AppendString(dst, r.scratch), nil
}

func (r *run) cborIntOrString(dst, b []byte, p *plan) ([]byte, error) {
	v, err := r.readIntOrString(b, p)
	switch {
	case err != nil:
		return dst, err
	case v.isString:
		return cbor.AppendString(dst, v.text), nil
	}
	return cbor.AppendInt(dst, int64(v.number)), nil
}

// cborSchemaOr appends one of the types JSONSchemaPropsOr…: messages of two
// fields, of which one is printed.
func (r *run) cborSchemaOr(dst []byte, o op, sub *plan, b []byte) ([]byte, error) {
	f, s, err := r.chosen(o, sub, b)
	switch {
	case err != nil:
		return dst, err
	case f == nil:
		return append(dst, cbor.Null), nil
	case f.op == opBool:
		return cbor.AppendBool(dst, s.n != 0 && number(b, s, opBool) != 0), nil
	case f.op == opRepeated:
		return r.cborElements(dst, b, s, f, sub)
	}
	part, err := r.part(b, s, sub, f.num)
	if err != nil {
		return dst, err
	}
	return r.cborValue(dst, f.op, f.sub, part, sub)
}
