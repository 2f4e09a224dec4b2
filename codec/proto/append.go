package proto

import (
	"sluice/codec/cbor"
	"sluice/codec/json"
)

// AppendJSON appends a raw object as the apiserver prints it in JSON: compact, members in struct
// order after kind and apiVersion, no newline. It returns the errors of Check. On error dst is
// returned unchanged.
func (s *Schema) AppendJSON(dst, raw []byte) ([]byte, error) {
	return s.append(dst, raw, asJSON, s.typeMeta[asJSON])
}

// AppendJSONItem appends a raw object like AppendJSON, but without kind and apiVersion: the form of
// a list item.
func (s *Schema) AppendJSONItem(dst, raw []byte) ([]byte, error) {
	return s.append(dst, raw, asJSON, literal{})
}

// AppendCBOR appends a raw object in the apiserver's CBOR profile: strings and names as byte
// strings, []byte with tag 22, integers and floats by their Go types, definite lengths, times as
// strings. Members are in struct order after kind and apiVersion; the apiserver shuffles them. The
// caller adds the self-described tag.
//
// It returns the errors of Check, and an error of cbor.AppendFromJSON. On error dst is returned unchanged.
func (s *Schema) AppendCBOR(dst, raw []byte) ([]byte, error) {
	return s.append(dst, raw, asCBOR, s.typeMeta[asCBOR])
}

// AppendCBORItem appends a raw object like AppendCBOR, but without kind and apiVersion: the form of
// a list item.
func (s *Schema) AppendCBORItem(dst, raw []byte) ([]byte, error) {
	return s.append(dst, raw, asCBOR, literal{})
}

func (s *Schema) append(dst, raw []byte, n notation, first literal) ([]byte, error) {
	tc, err := newTranscoder(raw)
	if err != nil {
		return dst, err
	}
	defer tc.free()
	tc.notation = n
	start := len(dst)
	dst, members, err := tc.appendFields(append(tc.openObject(dst), first.text...), raw, s.plan)
	if err != nil {
		return dst[:start], err
	}
	return tc.closeObject(dst, start, first.members+members), nil
}

// appendFields appends the members of a message and returns their number.
//
// The common kinds of value are handled in the loop itself, because it runs for every field of
// every object.
func (tc *transcoder) appendFields(dst, b []byte, p *plan) (_ []byte, members int, err error) {
	if err := tc.enter(p); err != nil {
		return dst, 0, err
	}
	low := len(tc.spans)
	spans, present, err := tc.indexFields(b, p)
	if err != nil {
		return dst, 0, err
	}
	for todo := present&p.printed | p.printedWhenAbsent; todo != 0; {
		i := todo.pop()
		f := &p.fields[i]
		out := &f.out[tc.notation]
		if !present.has(i) {
			dst = append(dst, out.absent.text...)
			members += out.absent.members
			continue
		}
		s := spans[i]
		n := 1
		switch f.op {
		case opString:
			v := b[s.start:s.end]
			if len(v) == 0 && f.omitEmpty {
				continue
			}
			if dst = append(dst, out.key...); tc.notation == asJSON {
				dst = json.AppendString(dst, v)
			} else {
				dst = cbor.AppendString(dst, v)
			}
		case opInt32, opInt64, opBool, opFloat64:
			v := number(b, s, f.op)
			if v == 0 && f.omitEmpty {
				continue
			}
			dst, err = tc.appendNumber(append(dst, out.key...), f.op, v, p)
		case opBytes:
			if s.start == s.end && f.omitEmpty {
				continue
			}
			dst = tc.appendBytes(append(dst, out.key...), b[s.start:s.end])
		case opTime, opMicroTime: // the last occurrence counts, nothing is merged
			dst, n, err = tc.appendTimeField(dst, b[s.start:s.end], f, p)
		case opRepeated:
			dst, err = tc.appendElements(append(dst, out.key...), b, s, f, p)
		case opMap:
			dst, err = tc.appendMap(append(dst, out.key...), b, s, f, p)
		default:
			dst, n, err = tc.appendMessageField(dst, b, s, f, p)
		}
		if err != nil {
			return dst, 0, err
		}
		members += n
	}
	tc.spans = tc.spans[:low]
	tc.depth--
	return dst, members, nil
}

// appendMessageField appends the member of a field that is a message on the wire, or all members of
// the message if it is inlined, and returns the number of members.
func (tc *transcoder) appendMessageField(dst, b []byte, s span, f *planField, p *plan) ([]byte, int, error) {
	part, err := p.messageBytes(b, s, f.num)
	if err != nil {
		return dst, 0, err
	}
	if f.op == opInline {
		return tc.appendFields(dst, part, f.sub)
	}
	dst, err = tc.appendValue(append(dst, f.out[tc.notation].key...), f.op, f.sub, part, p)
	return dst, 1, err
}

// appendTimeField appends the member of a Time or MicroTime and returns 1, or returns 0 if the field
// is a zero Time with omitzero.
func (tc *transcoder) appendTimeField(dst, b []byte, f *planField, p *plan) ([]byte, int, error) {
	if f.omitZero {
		if t, err := p.readTimestamp(b); err != nil || t.seconds == zeroTime {
			return dst, 0, err
		}
	}
	dst, err := tc.appendCustom(append(dst, f.out[tc.notation].key...), f.op, nil, b, p)
	return dst, 1, err
}

// appendValue appends one value that is length-delimited on the wire: a field, an element of a slice
// or a value of a map.
func (tc *transcoder) appendValue(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opString:
		return tc.appendString(dst, b), nil
	case opBytes:
		return tc.appendBytes(dst, b), nil
	case opMessage:
		start := len(dst)
		dst, n, err := tc.appendFields(tc.openObject(dst), b, sub)
		if err != nil {
			return dst, err
		}
		return tc.closeObject(dst, start, n), nil
	case opStringList:
		return tc.appendStringList(dst, b, p)
	}
	return tc.appendCustom(dst, o, sub, b, p)
}
