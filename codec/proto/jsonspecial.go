package proto

import (
	"fmt"
	"strconv"

	"sluice/codec/json"
)

// jsonSpecial appends a value of a type that prints itself.
func (r *run) jsonSpecial(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opTime:
		return r.jsonTime(dst, b, p)
	case opMicroTime:
		return r.jsonMicroTime(dst, b, p)
	case opDuration:
		return r.jsonDuration(dst, b, p)
	case opQuantity:
		return r.jsonQuantity(dst, b, p)
	case opIntOrString:
		return r.jsonIntOrString(dst, b, p)
	case opSchemaOrBool, opSchemaOrArray, opSchemaOrStrings:
		return r.jsonSchemaOr(dst, o, sub, b)
	}
	raw, err := r.embedded(o, b, p)
	switch {
	case err != nil:
		return dst, err
	case raw == nil:
		return append(dst, "null"...), nil
	}
	if dst, err = appendEmbedded(dst, raw); err != nil {
		return dst, r.fail(err, p, raw, 0)
	}
	return dst, nil
}

// jsonTimeField appends a member that is a Time or MicroTime, unless it is a
// zero Time and omitzero.
func (r *run) jsonTimeField(dst, b []byte, f *planField, p *plan) ([]byte, error) {
	if f.omitZero {
		if t, err := r.readStamp(b, p); err != nil || t.seconds == zeroTime {
			return dst, err
		}
	}
	return r.jsonSpecial(append(dst, f.json.key...), f.op, nil, b, p)
}

func (r *run) jsonTime(dst, b []byte, p *plan) ([]byte, error) {
	t, err := r.readStamp(b, p)
	if err != nil {
		return dst, err
	}
	if t.seconds == zeroTime {
		return append(dst, "null"...), nil
	}
	return append(t.appendSeconds(append(dst, '"')), '"'), nil
}

func (r *run) jsonMicroTime(dst, b []byte, p *plan) ([]byte, error) {
	t, err := r.readStamp(b, p)
	if err != nil {
		return dst, err
	}
	if t.micro().IsZero() {
		return append(dst, "null"...), nil
	}
	return append(t.appendMicros(append(dst, '"')), '"'), nil
}

func (r *run) jsonDuration(dst, b []byte, p *plan) ([]byte, error) {
	d, err := r.readDuration(b, p)
	if err != nil {
		return dst, err
	}
	dst = append(dst, '"')
	dst = append(dst, d.String()...)
	return append(dst, '"'), nil
}

func (r *run) jsonQuantity(dst, b []byte, p *plan) ([]byte, error) {
	dst = append(dst, '"')
	dst, err := r.quantity(dst, b, p)
	if err != nil {
		return dst, err
	}
	return append(dst, '"'), nil
}

// quantity appends the text of resource.Quantity{1: string}.
func (r *run) quantity(dst, b []byte, p *plan) ([]byte, error) {
	s, found, err := r.onlyString(b, p)
	switch {
	case err != nil:
		return dst, err
	case !found:
		return append(dst, '0'), nil
	}
	dst, err = appendQuantity(dst, s)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", r.fail(ErrValue, p, s, 0), err)
	}
	return dst, nil
}

func (r *run) jsonIntOrString(dst, b []byte, p *plan) ([]byte, error) {
	v, err := r.readIntOrString(b, p)
	switch {
	case err != nil:
		return dst, err
	case v.isString:
		return json.AppendString(dst, v.text), nil
	}
	return strconv.AppendInt(dst, int64(v.number), 10), nil
}

// jsonSchemaOr appends one of the types JSONSchemaPropsOr…: messages of two
// fields, of which one is printed.
func (r *run) jsonSchemaOr(dst []byte, o op, sub *plan, b []byte) ([]byte, error) {
	f, s, err := r.chosen(o, sub, b)
	if err != nil {
		return dst, err
	}
	switch {
	case f == nil:
		return append(dst, "null"...), nil
	case f.op == opBool:
		return strconv.AppendBool(dst, s.n != 0 && number(b, s, opBool) != 0), nil
	case f.op == opRepeated:
		return r.jsonElements(dst, b, s, f, sub)
	}
	part, err := r.part(b, s, sub, f.num)
	if err != nil {
		return dst, err
	}
	return r.jsonValue(dst, f.op, f.sub, part, sub)
}
