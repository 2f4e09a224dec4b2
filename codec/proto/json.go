package proto

import (
	"sluice/codec/json"
)

// AppendJSON appends a raw object as the apiserver prints it in JSON: compact, members in struct
// order after kind and apiVersion, no newline. It returns the errors of Check. On error dst is
// returned unchanged.
func (s *Schema) AppendJSON(dst, raw []byte) ([]byte, error) {
	return s.appendJSON(dst, raw, s.jsonTypeMeta)
}

// AppendJSONItem appends a raw object like AppendJSON, but without kind and apiVersion: the form of
// a list item.
func (s *Schema) AppendJSONItem(dst, raw []byte) ([]byte, error) {
	return s.appendJSON(dst, raw, "")
}

func (s *Schema) appendJSON(dst, raw []byte, typeMeta string) ([]byte, error) {
	tc, err := newTranscoder(raw)
	if err != nil {
		return dst, err
	}
	defer tc.free()
	start := len(dst)
	dst, err = tc.jsonFields(append(dst, typeMeta...), raw, s.plan)
	if err != nil {
		return dst[:start], err
	}
	return closeJSON(dst, start, '{', '}'), nil
}

// closeJSON turns the members or elements after start, each preceded by a comma, into an object or
// array.
func closeJSON(dst []byte, start int, open, end byte) []byte {
	if len(dst) == start {
		return append(dst, open, end)
	}
	dst[start] = open
	return append(dst, end)
}

// jsonFields appends the members of a message, each preceded by a comma.
//
// The common kinds of value are handled in the loop itself, because it runs for every field of
// every object.
func (tc *transcoder) jsonFields(dst, b []byte, p *plan) ([]byte, error) {
	if err := tc.enter(p, b); err != nil {
		return dst, err
	}
	low := len(tc.spans)
	spans, present, err := tc.indexFields(b, p)
	if err != nil {
		return dst, err
	}
	for todo := present&p.printed | p.printedWhenAbsent; todo != 0; {
		i := todo.pop()
		f := &p.fields[i]
		if !present.has(i) {
			dst = append(dst, f.json.absent...)
			continue
		}
		s := spans[i]
		switch f.op {
		case opString:
			if v := b[s.start:s.end]; len(v) != 0 || !f.omitEmpty {
				dst = json.AppendString(append(dst, f.json.key...), v)
			}
			continue
		case opInt32, opInt64, opBool, opUint32, opUint64, opFloat64:
			v := number(b, s, f.op)
			if v == 0 && f.omitEmpty {
				continue
			}
			dst, err = tc.jsonNumber(append(dst, f.json.key...), f.op, v, b, p)
		case opBytes:
			if s.start == s.end && f.omitEmpty {
				continue
			}
			dst = appendBase64(append(dst, f.json.key...), b[s.start:s.end])
			continue
		case opTime, opMicroTime: // the last occurrence counts, nothing is merged
			dst, err = tc.jsonTimeField(dst, b[s.start:s.end], f, p)
		case opRepeated:
			dst, err = tc.jsonElements(append(dst, f.json.key...), b, s, f, p)
		case opMap:
			dst, err = tc.jsonMap(dst, b, s, f, p)
		default:
			var part []byte
			if part, err = tc.messageBytes(b, s, p, f.num); err == nil {
				dst, err = tc.jsonMessageField(dst, part, f, p)
			}
		}
		if err != nil {
			return dst, err
		}
	}
	tc.spans = tc.spans[:low]
	tc.depth--
	return dst, nil
}

// jsonMessageField appends the member of a field that is a message on the wire, or all members of
// the message if it is inlined.
func (tc *transcoder) jsonMessageField(dst, b []byte, f *planField, p *plan) ([]byte, error) {
	if f.op == opInline {
		return tc.jsonFields(dst, b, f.sub)
	}
	return tc.jsonValue(append(dst, f.json.key...), f.op, f.sub, b, p)
}

// jsonValue appends one value that is length-delimited on the wire: a field, an element of a slice
// or a value of a map.
func (tc *transcoder) jsonValue(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opString:
		return json.AppendString(dst, b), nil
	case opBytes:
		return appendBase64(dst, b), nil
	case opMessage:
		start := len(dst)
		dst, err := tc.jsonFields(dst, b, sub)
		if err != nil {
			return dst, err
		}
		return closeJSON(dst, start, '{', '}'), nil
	case opStringList:
		return tc.jsonStringList(dst, b, p)
	}
	return tc.jsonCustom(dst, o, sub, b, p)
}
