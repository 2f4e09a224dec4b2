package proto

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// appendCustom appends a value of a type with its own MarshalJSON and MarshalCBOR.
func (tc *transcoder) appendCustom(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	start := len(dst)
	switch o {
	case opTime, opMicroTime:
		return tc.appendTime(dst, o, b, p)
	case opQuantity:
		dst, err := p.quantity(append(dst, '"'), b)
		if err != nil {
			return dst, err
		}
		return tc.closeText(dst, start), nil
	case opIntOrString:
		v, err := p.readIntOrString(b)
		switch {
		case err != nil:
			return dst, err
		case v.Type == intstr.String:
			return tc.appendString(dst, []byte(v.StrVal)), nil
		}
		return tc.appendInt(dst, int64(v.IntVal)), nil
	case opSchemaOrBool, opSchemaOrArray, opSchemaOrStrings:
		return tc.appendSchemaOr(dst, o, sub, b)
	}
	raw, err := p.embeddedJSON(o, b)
	switch {
	case err != nil:
		return dst, err
	case raw == nil:
		return tc.appendNull(dst), nil
	}
	if dst, err = tc.appendEmbedded(dst, raw); err != nil {
		return dst, p.error(err)
	}
	return dst, nil
}

// appendTime appends a Time or MicroTime in UTC, null if it is zero. A Time has no fractions of a second, as
// metav1.Time drops them when it decodes.
func (to notation) appendTime(dst []byte, o op, b []byte, p *plan) ([]byte, error) {
	start := len(dst)
	t, err := p.readTimestamp(b)
	switch {
	case err != nil:
		return dst, err
	case o == opTime && t.seconds == zeroTime, o == opMicroTime && t.microTime().IsZero():
		return to.appendNull(dst), nil
	case o == opTime:
		dst = time.Unix(t.seconds, 0).UTC().AppendFormat(append(dst, '"'), time.RFC3339)
	default:
		dst = t.microTime().AppendFormat(append(dst, '"'), metav1.RFC3339Micro)
	}
	return to.closeText(dst, start), nil
}

// quantity appends the text of resource.Quantity{1: string}. No character of it needs escaping.
func (p *plan) quantity(dst, b []byte) ([]byte, error) {
	s, found, err := p.readSingleString(b)
	switch {
	case err != nil:
		return dst, err
	case !found:
		return append(dst, '0'), nil
	}
	q, err := resource.ParseQuantity(string(s))
	if err != nil {
		return dst, fmt.Errorf("%w: %w", p.error(ErrValue), err)
	}
	return append(dst, q.String()...), nil
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
	part, err := sub.messageBytes(b, s, f.num)
	if err != nil {
		return dst, err
	}
	return tc.appendValue(dst, f.op, f.sub, part, sub)
}

// timestampSeconds is the first of the two field numbers of metav1.Timestamp.
const timestampSeconds = 1

// zeroTime is the zero time.Time in Unix seconds, which is printed as null.
const zeroTime = -62135596800

// A timestamp is a decoded metav1.Timestamp, in Unix seconds and nanoseconds.
type timestamp struct{ seconds, nanos int64 }

// readTimestamp reads the timestamp of a Time or MicroTime. An empty message is the zero time.
func (p *plan) readTimestamp(b []byte) (t timestamp, err error) {
	if len(b) == 0 {
		return timestamp{seconds: zeroTime}, nil
	}
	err = p.fieldsOf(b, allVarints, func(f field, _ []byte) {
		if f.num == timestampSeconds {
			t.seconds = int64(f.value)
		} else {
			t.nanos = int64(int32(f.value))
		}
	})
	return t, err
}

// microTime returns the time as metav1.MicroTime decodes it.
func (t timestamp) microTime() time.Time {
	return time.Unix(t.seconds, int64(time.Duration(t.nanos).Truncate(time.Microsecond))).UTC()
}
