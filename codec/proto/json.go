package proto

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"sluice/codec/json"
)

// AppendJSON appends a raw object as the apiserver prints it in JSON: compact,
// members in struct order behind kind and apiVersion, no newline. Errors: those
// of Check. On error dst is returned as it was given.
func (m *Schema) AppendJSON(dst, raw []byte) ([]byte, error) {
	return m.appendJSON(dst, raw, m.json)
}

// AppendJSONItem appends a raw object as AppendJSON does, but without kind and
// apiVersion: so it is printed as an item of a list.
func (m *Schema) AppendJSONItem(dst, raw []byte) ([]byte, error) {
	return m.appendJSON(dst, raw, "")
}

func (m *Schema) appendJSON(dst, raw []byte, typeMeta string) ([]byte, error) {
	r, err := newRun(raw)
	if err != nil {
		return dst, err
	}
	defer r.free()
	start := len(dst)
	dst, err = r.jsonFields(append(dst, typeMeta...), raw, m.plan)
	if err != nil {
		return dst[:start], err
	}
	return closeJSON(dst, start, '{', '}'), nil
}

// closeJSON turns members or elements, written from start on with a comma in
// front of each, into an object or array.
func closeJSON(dst []byte, start int, open, end byte) []byte {
	if len(dst) == start {
		return append(dst, open, end)
	}
	dst[start] = open
	return append(dst, end)
}

// jsonFields appends the members of a message, each with a comma in front.
//
// It is one loop with the common kinds of value in place, because it runs for
// every field of every object.
func (r *run) jsonFields(dst, b []byte, p *plan) ([]byte, error) {
	if err := r.enter(p, b); err != nil {
		return dst, err
	}
	low := len(r.spans)
	spans, present, err := r.index(b, p)
	if err != nil {
		return dst, err
	}
	for todo := present&p.shown | p.always; todo != 0; {
		i := todo.pop()
		f := &p.fields[i]
		if !present.has(i) {
			dst = append(dst, f.json.zero...)
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
			dst, err = r.jsonNumber(append(dst, f.json.key...), f.op, v, b, p)
		case opBytes:
			if s.start == s.end && f.omitEmpty {
				continue
			}
			dst = appendBase64(append(dst, f.json.key...), b[s.start:s.end])
			continue
		case opTime, opMicroTime: // the last one counts, nothing is merged
			dst, err = r.jsonTimeField(dst, b[s.start:s.end], f, p)
		case opRepeated:
			dst, err = r.jsonElements(append(dst, f.json.key...), b, s, f, p)
		case opMap:
			dst, err = r.jsonMap(dst, b, s, f, p)
		default:
			var part []byte
			if part, err = r.part(b, s, p, f.num); err == nil {
				dst, err = r.jsonPart(dst, part, f, p)
			}
		}
		if err != nil {
			return dst, err
		}
	}
	r.spans = r.spans[:low]
	r.depth--
	return dst, nil
}

// number decodes the number at s, which the index has checked, and cuts it to
// the width of its Go type.
func number(b []byte, s span, o op) uint64 {
	if o == opFloat64 {
		return binary.LittleEndian.Uint64(b[s.start:])
	}
	v, _ := varint(b, int(s.start))
	if o == opInt32 || o == opUint32 {
		v = uint64(uint32(v))
	}
	return v
}

// jsonNumber appends a number or bool.
func (r *run) jsonNumber(dst []byte, o op, v uint64, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opInt32:
		return strconv.AppendInt(dst, int64(int32(v)), 10), nil
	case opInt64:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case opBool:
		return strconv.AppendBool(dst, v != 0), nil
	case opUint32:
		return strconv.AppendUint(dst, uint64(uint32(v)), 10), nil
	case opUint64:
		return strconv.AppendUint(dst, v, 10), nil
	}
	x := math.Float64frombits(v)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return dst, r.fail(ErrValue, p, b, 0)
	}
	return appendFloat(dst, x), nil
}

// appendFloat appends x as encoding/json prints it.
func appendFloat(dst []byte, x float64) []byte {
	abs, format := math.Abs(x), byte('f')
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, x, format, -1, 64)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && (dst[n-3] == '-' || dst[n-3] == '+') && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 is printed as e-9
		dst = dst[:n-1]
	}
	return dst
}

// appendBase64 appends bytes as encoding/json prints them.
func appendBase64(dst, b []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"')
}

// jsonPart appends a member that is a message on the wire.
func (r *run) jsonPart(dst, b []byte, f *planField, p *plan) ([]byte, error) {
	if f.op == opInline {
		return r.jsonFields(dst, b, f.sub)
	}
	return r.jsonValue(append(dst, f.json.key...), f.op, f.sub, b, p)
}

// jsonValue appends one value that is length-delimited on the wire: a field, an
// element of a slice or a value of a map.
func (r *run) jsonValue(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opString:
		return json.AppendString(dst, b), nil
	case opBytes:
		return appendBase64(dst, b), nil
	case opMessage:
		start := len(dst)
		dst, err := r.jsonFields(dst, b, sub)
		if err != nil {
			return dst, err
		}
		return closeJSON(dst, start, '{', '}'), nil
	case opNames:
		return r.jsonNames(dst, b, p)
	}
	return r.jsonSpecial(dst, o, sub, b, p)
}

// jsonNames appends a slice type that is a message of its own.
func (r *run) jsonNames(dst, b []byte, p *plan) ([]byte, error) {
	start := len(dst)
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		if err != nil {
			return dst, r.fail(err, p, b, i)
		}
		if f.num != 1 || f.typ != wireBytes {
			return dst, r.failField(ErrUnknownField, p, uint64(f.num), b, i)
		}
		dst = json.AppendString(append(dst, ','), b[f.start:f.end])
		i = f.end
	}
	return closeJSON(dst, start, '[', ']'), nil
}

// jsonElements appends a slice.
func (r *run) jsonElements(dst, b []byte, s span, f *planField, p *plan) (_ []byte, err error) {
	if f.elem.wireType() != wireBytes {
		return r.jsonNumbers(dst, b, s, f, p)
	}
	first, end := len(dst), int(s.end)
	for i, stop := element(b, int(s.start), end, f); i >= 0; i, stop = element(b, stop, end, f) {
		if dst, err = r.jsonValue(append(dst, ','), f.elem, f.sub, b[i:stop], p); err != nil {
			return dst, err
		}
	}
	return closeJSON(dst, first, '[', ']'), nil
}

// jsonNumbers appends a slice of numbers or bools, which may come packed.
func (r *run) jsonNumbers(dst, b []byte, s span, f *planField, p *plan) (_ []byte, err error) {
	first := len(dst)
	for i := int(s.start); i < int(s.end); {
		w, err := readField(b, i)
		switch {
		case err != nil:
			return dst, r.fail(err, p, b, i)
		case w.num != f.num:
		case w.typ == wireBytes:
			dst, err = r.jsonPacked(dst, b[w.start:w.end], f, p)
		default:
			dst, err = r.jsonNumber(append(dst, ','), f.elem, w.value, b, p)
		}
		if err != nil {
			return dst, err
		}
		i = w.end
	}
	return closeJSON(dst, first, '[', ']'), nil
}

// jsonPacked appends the numbers of a packed field.
func (r *run) jsonPacked(dst, b []byte, f *planField, p *plan) (_ []byte, err error) {
	for i := 0; i < len(b) && err == nil; {
		var v uint64
		if v, i = nextPacked(b, i, f.elem); i < 0 {
			return dst, r.fail(varintError(i), p, b, 0)
		}
		dst, err = r.jsonNumber(append(dst, ','), f.elem, v, b, p)
	}
	return dst, err
}

// nextPacked reads a number of a packed field.
func nextPacked(b []byte, i int, o op) (uint64, int) {
	if o != opFloat64 {
		return varint(b, i)
	}
	if i+8 > len(b) {
		return 0, -1
	}
	return binary.LittleEndian.Uint64(b[i:]), i + 8
}
