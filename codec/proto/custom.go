package proto

import "fmt"

// appendCustom appends a value of a type with its own MarshalJSON and MarshalCBOR.
func (tc *transcoder) appendCustom(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	start := len(dst)
	switch o {
	case opTime, opMicroTime:
		return tc.appendTime(dst, o, b, p)
	case opQuantity:
		dst, err := tc.quantity(append(dst, '"'), b, p)
		if err != nil {
			return dst, err
		}
		return tc.closeText(dst, start), nil
	case opIntOrString:
		v, err := tc.readIntOrString(b, p)
		switch {
		case err != nil:
			return dst, err
		case v.isString:
			return tc.appendString(dst, v.text), nil
		}
		return tc.appendInt(dst, int64(v.number)), nil
	case opSchemaOrBool, opSchemaOrArray, opSchemaOrStrings:
		return tc.appendSchemaOr(dst, o, sub, b)
	}
	raw, err := tc.embeddedJSON(o, b, p)
	switch {
	case err != nil:
		return dst, err
	case raw == nil:
		return tc.appendNull(dst), nil
	}
	if dst, err = tc.appendEmbedded(dst, raw); err != nil {
		return dst, tc.errorAt(err, p, raw, 0)
	}
	return dst, nil
}

// appendTime appends a Time or MicroTime, null if it is zero.
func (c *scalars) appendTime(dst []byte, o op, b []byte, p *plan) ([]byte, error) {
	start := len(dst)
	t, err := c.readTimestamp(b, p)
	switch {
	case err != nil:
		return dst, err
	case o == opTime && t.seconds == zeroTime, o == opMicroTime && t.microTime().IsZero():
		return c.appendNull(dst), nil
	case o == opTime:
		dst = t.appendSeconds(append(dst, '"'))
	default:
		dst = t.appendMicros(append(dst, '"'))
	}
	return c.closeText(dst, start), nil
}

// quantity appends the text of resource.Quantity{1: string}. No character of it needs escaping.
func (src *source) quantity(dst, b []byte, p *plan) ([]byte, error) {
	s, found, err := src.readSingleString(b, p)
	switch {
	case err != nil:
		return dst, err
	case !found:
		return append(dst, '0'), nil
	}
	dst, err = appendQuantity(dst, s)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", src.errorAt(ErrValue, p, s, 0), err)
	}
	return dst, nil
}

// appendSchemaOr appends one of the types JSONSchemaPropsOr…: messages of two fields, one of which
// is printed.
func (tc *transcoder) appendSchemaOr(dst []byte, o op, sub *plan, b []byte) ([]byte, error) {
	f, s, err := tc.printedSchemaField(o, sub, b)
	switch {
	case err != nil:
		return dst, err
	case f == nil:
		return tc.appendNull(dst), nil
	case f.op == opBool:
		return tc.appendBool(dst, s.n != 0 && number(b, s, opBool) != 0), nil
	case f.op == opRepeated:
		return tc.appendElements(dst, b, s, f, sub)
	}
	part, err := tc.messageBytes(b, s, sub, f.num)
	if err != nil {
		return dst, err
	}
	return tc.appendValue(dst, f.op, f.sub, part, sub)
}
