package proto

import "sluice/codec/cbor"

// cborCustom appends a value of a type with its own MarshalCBOR.
func (tc *transcoder) cborCustom(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opTime:
		return tc.cborTime(dst, b, p)
	case opMicroTime:
		return tc.cborMicroTime(dst, b, p)
	case opDuration:
		d, err := tc.readDuration(b, p)
		if err != nil {
			return dst, err
		}
		return cbor.AppendString(dst, d.String()), nil
	case opQuantity:
		return tc.cborQuantity(dst, b, p)
	case opIntOrString:
		return tc.cborIntOrString(dst, b, p)
	case opSchemaOrBool, opSchemaOrArray, opSchemaOrStrings:
		return tc.cborSchemaOr(dst, o, sub, b)
	}
	raw, err := tc.embeddedJSON(o, b, p)
	switch {
	case err != nil:
		return dst, err
	case raw == nil:
		return append(dst, cbor.Null), nil
	}
	if dst, err = cbor.AppendFromJSON(dst, raw); err != nil {
		return dst, tc.errorAt(err, p, raw, 0)
	}
	return dst, nil
}

// cborTimeField appends the pair of a Time or MicroTime and returns 1, or returns 0 if the field is
// a zero Time with omitzero.
func (tc *transcoder) cborTimeField(dst, b []byte, f *planField, p *plan) ([]byte, int, error) {
	if f.omitZero {
		if t, err := tc.readTimestamp(b, p); err != nil || t.seconds == zeroTime {
			return dst, 0, err
		}
	}
	dst, err := tc.cborCustom(append(dst, f.cbor.key...), f.op, nil, b, p)
	return dst, 1, err
}

func (tc *transcoder) cborTime(dst, b []byte, p *plan) ([]byte, error) {
	t, err := tc.readTimestamp(b, p)
	if err != nil {
		return dst, err
	}
	if t.seconds == zeroTime {
		return append(dst, cbor.Null), nil
	}
	tc.scratch = t.appendSeconds(tc.scratch[:0])
	return cbor.AppendString(dst, tc.scratch), nil
}

func (tc *transcoder) cborMicroTime(dst, b []byte, p *plan) ([]byte, error) {
	t, err := tc.readTimestamp(b, p)
	if err != nil {
		return dst, err
	}
	if t.microTime().IsZero() {
		return append(dst, cbor.Null), nil
	}
	tc.scratch = t.appendMicros(tc.scratch[:0])
	return cbor.AppendString(dst, tc.scratch), nil
}

func (tc *transcoder) cborQuantity(dst, b []byte, p *plan) ([]byte, error) {
	var err error
	if tc.scratch, err = tc.quantity(tc.scratch[:0], b, p); err != nil {
		return dst, err
	}
	return cbor.AppendString(dst, tc.scratch), nil
}

func (tc *transcoder) cborIntOrString(dst, b []byte, p *plan) ([]byte, error) {
	v, err := tc.readIntOrString(b, p)
	switch {
	case err != nil:
		return dst, err
	case v.isString:
		return cbor.AppendString(dst, v.text), nil
	}
	return cbor.AppendInt(dst, int64(v.number)), nil
}

// cborSchemaOr appends one of the types JSONSchemaPropsOr…: messages of two fields, one of which is
// printed.
func (tc *transcoder) cborSchemaOr(dst []byte, o op, sub *plan, b []byte) ([]byte, error) {
	f, s, err := tc.printedSchemaField(o, sub, b)
	switch {
	case err != nil:
		return dst, err
	case f == nil:
		return append(dst, cbor.Null), nil
	case f.op == opBool:
		return cbor.AppendBool(dst, s.n != 0 && number(b, s, opBool) != 0), nil
	case f.op == opRepeated:
		return tc.cborElements(dst, b, s, f, sub)
	}
	part, err := tc.messageBytes(b, s, sub, f.num)
	if err != nil {
		return dst, err
	}
	return tc.cborValue(dst, f.op, f.sub, part, sub)
}
