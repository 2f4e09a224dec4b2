package proto

import (
	"fmt"
	"time"
)

// readDuration reads metav1.Duration{1: nanoseconds}.
func (r *run) readDuration(b []byte, p *plan) (d time.Duration, err error) {
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		switch {
		case err != nil:
			return d, r.fail(err, p, b, i)
		case f.num != 1:
			return d, r.failField(ErrUnknownField, p, uint64(f.num), b, i)
		case f.typ != wireVarint:
			return d, r.fail(ErrWireType, p, b, i)
		}
		d, i = time.Duration(f.value), f.end
	}
	return d, nil
}

// onlyString reads a message whose one field is a string or bytes with number
// 1, and says whether it is there. The last one counts.
func (r *run) onlyString(b []byte, p *plan) (s []byte, found bool, err error) {
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		switch {
		case err != nil:
			return nil, false, r.fail(err, p, b, i)
		case f.num != 1:
			return nil, false, r.failField(ErrUnknownField, p, uint64(f.num), b, i)
		case f.typ != wireBytes:
			return nil, false, r.fail(ErrWireType, p, b, i)
		}
		s, found, i = b[f.start:f.end], true, f.end
	}
	return s, found, nil
}

// An intOrString is a decoded intstr.IntOrString.
type intOrString struct {
	isString bool
	number   int32
	text     []byte
}

// readIntOrString reads intstr.IntOrString{1: type, 2: intVal, 3: strVal}; type
// is 0 for numbers and 1 for strings.
func (r *run) readIntOrString(b []byte, p *plan) (v intOrString, err error) {
	typ := uint64(0)
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		switch {
		case err != nil:
			return v, r.fail(err, p, b, i)
		case f.num == 1 && f.typ == wireVarint:
			typ = f.value
		case f.num == 2 && f.typ == wireVarint:
			v.number = int32(f.value)
		case f.num == 3 && f.typ == wireBytes:
			v.text = b[f.start:f.end]
		case f.num > 3:
			return v, r.failField(ErrUnknownField, p, uint64(f.num), b, i)
		default:
			return v, r.fail(ErrWireType, p, b, i)
		}
		i = f.end
	}
	if typ > 1 {
		return v, r.fail(ErrValue, p, b, 0)
	}
	v.isString = typ == 1
	return v, nil
}

// embedded returns the JSON inside of a RawExtension, FieldsV1 or schema JSON:
// a message whose one field is bytes. Nil stands for null.
func (r *run) embedded(o op, b []byte, p *plan) ([]byte, error) {
	raw, found, err := r.onlyString(b, p)
	if err != nil || !found {
		return nil, err
	}
	cbor := false
	switch {
	case o == opRawExtension:
		cbor = len(raw) >= len(cborMagic) && string(raw[:len(cborMagic)]) == cborMagic
		if !cbor && (len(raw) == 0 || !startsJSON(raw[0])) {
			return nil, r.fail(ErrValue, p, raw, 0)
		}
	case len(raw) == 0:
		return nil, nil
	case o == opFieldsV1:
		cbor = startsCBOR(raw[0])
	}
	if !cbor {
		return raw, nil
	}
	js, err := cborToJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", r.fail(ErrValue, p, raw, 0), err)
	}
	return js, nil
}

// chosen returns the field of a JSONSchemaPropsOr… that is printed; nil, if
// that is null. The schema is field 1 beside an array, field 2 beside a bool;
// arrays come before the schema, the schema before the bool.
// Source: the MarshalJSON methods of apiextensions.
func (r *run) chosen(o op, p *plan, b []byte) (*planField, span, error) {
	low := len(r.spans)
	spans, present, err := r.index(b, p)
	r.spans = r.spans[:low]
	switch {
	case err != nil:
		return nil, span{}, err
	case present.has(1):
		return &p.fields[1], spans[1], nil
	case present.has(0):
		return &p.fields[0], spans[0], nil
	case o == opSchemaOrBool:
		return &p.fields[0], span{}, nil
	}
	return nil, span{}, nil
}
