package proto

import (
	"fmt"
	"strconv"

	"sluice/codec/json"
)

// jsonCustom appends a value of a type with its own MarshalJSON.
func (tc *transcoder) jsonCustom(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opTime:
		return tc.jsonTime(dst, b, p)
	case opMicroTime:
		return tc.jsonMicroTime(dst, b, p)
	case opDuration:
		return tc.jsonDuration(dst, b, p)
	case opQuantity:
		return tc.jsonQuantity(dst, b, p)
	case opIntOrString:
		return tc.jsonIntOrString(dst, b, p)
	case opSchemaOrBool, opSchemaOrArray, opSchemaOrStrings:
		return tc.jsonSchemaOr(dst, o, sub, b)
	}
	raw, err := tc.embeddedJSON(o, b, p)
	switch {
	case err != nil:
		return dst, err
	case raw == nil:
		return append(dst, "null"...), nil
	}
	if dst, err = appendEmbedded(dst, raw); err != nil {
		return dst, tc.errorAt(err, p, raw, 0)
	}
	return dst, nil
}

// jsonTimeField appends the member of a Time or MicroTime, unless it is a zero Time with omitzero.
func (tc *transcoder) jsonTimeField(dst, b []byte, f *planField, p *plan) ([]byte, error) {
	if f.omitZero {
		if t, err := tc.readTimestamp(b, p); err != nil || t.seconds == zeroTime {
			return dst, err
		}
	}
	return tc.jsonCustom(append(dst, f.json.key...), f.op, nil, b, p)
}

func (tc *transcoder) jsonTime(dst, b []byte, p *plan) ([]byte, error) {
	t, err := tc.readTimestamp(b, p)
	if err != nil {
		return dst, err
	}
	if t.seconds == zeroTime {
		return append(dst, "null"...), nil
	}
	return append(t.appendSeconds(append(dst, '"')), '"'), nil
}

func (tc *transcoder) jsonMicroTime(dst, b []byte, p *plan) ([]byte, error) {
	t, err := tc.readTimestamp(b, p)
	if err != nil {
		return dst, err
	}
	if t.microTime().IsZero() {
		return append(dst, "null"...), nil
	}
	return append(t.appendMicros(append(dst, '"')), '"'), nil
}

func (tc *transcoder) jsonDuration(dst, b []byte, p *plan) ([]byte, error) {
	d, err := tc.readDuration(b, p)
	if err != nil {
		return dst, err
	}
	dst = append(dst, '"')
	dst = append(dst, d.String()...)
	return append(dst, '"'), nil
}

func (tc *transcoder) jsonQuantity(dst, b []byte, p *plan) ([]byte, error) {
	dst = append(dst, '"')
	dst, err := tc.quantity(dst, b, p)
	if err != nil {
		return dst, err
	}
	return append(dst, '"'), nil
}

// quantity appends the text of resource.Quantity{1: string}. No character of it needs escaping.
func (tc *transcoder) quantity(dst, b []byte, p *plan) ([]byte, error) {
	s, found, err := tc.readSingleString(b, p)
	switch {
	case err != nil:
		return dst, err
	case !found:
		return append(dst, '0'), nil
	}
	dst, err = appendQuantity(dst, s)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", tc.errorAt(ErrValue, p, s, 0), err)
	}
	return dst, nil
}

func (tc *transcoder) jsonIntOrString(dst, b []byte, p *plan) ([]byte, error) {
	v, err := tc.readIntOrString(b, p)
	switch {
	case err != nil:
		return dst, err
	case v.isString:
		return json.AppendString(dst, v.text), nil
	}
	return strconv.AppendInt(dst, int64(v.number), 10), nil
}

// jsonSchemaOr appends one of the types JSONSchemaPropsOr…: messages of two fields, one of which is
// printed.
func (tc *transcoder) jsonSchemaOr(dst []byte, o op, sub *plan, b []byte) ([]byte, error) {
	f, s, err := tc.printedSchemaField(o, sub, b)
	if err != nil {
		return dst, err
	}
	switch {
	case f == nil:
		return append(dst, "null"...), nil
	case f.op == opBool:
		return strconv.AppendBool(dst, s.n != 0 && number(b, s, opBool) != 0), nil
	case f.op == opRepeated:
		return tc.jsonElements(dst, b, s, f, sub)
	}
	part, err := tc.messageBytes(b, s, sub, f.num)
	if err != nil {
		return dst, err
	}
	return tc.jsonValue(dst, f.op, f.sub, part, sub)
}
