package proto

import (
	"bytes"
	"math"
	"slices"

	"sluice/codec/cbor"
)

// maxTiny is the largest number that fits into an item's first byte.
const maxTiny = 23

// typeMetaPairs is how many members Schema.cbor holds.
const typeMetaPairs = 2

// AppendCBOR appends a raw object in the apiserver's profile of CBOR: text and
// names as byte strings, []byte with tag 22, integers and floats as they are
// typed, lengths definite, times as text; members in struct order behind kind
// and apiVersion, where the apiserver shuffles them. The self-described tag is
// left to the caller. Errors: those of Check, and cbor.ErrNumber. On error dst
// is returned as it was given.
func (m *Schema) AppendCBOR(dst, raw []byte) ([]byte, error) {
	return m.appendCBOR(dst, raw, m.cbor, typeMetaPairs)
}

// AppendCBORItem appends a raw object as AppendCBOR does, but without kind and
// apiVersion: so it is printed as an item of a list.
func (m *Schema) AppendCBORItem(dst, raw []byte) ([]byte, error) {
	return m.appendCBOR(dst, raw, "", 0)
}

func (m *Schema) appendCBOR(dst, raw []byte, typeMeta string, pairs int) ([]byte, error) {
	r, err := newRun(raw)
	if err != nil {
		return dst, err
	}
	defer r.free()
	start := len(dst)
	dst, n, err := r.cborFields(append(append(dst, 0), typeMeta...), raw, m.plan)
	if err != nil {
		return dst[:start], err
	}
	return closeCBOR(dst, start, n+pairs), nil
}

// closeCBOR turns the byte at start, left free, into the head of a map of n
// pairs, which are what follows. More than 23 pairs are moved, by a byte as a
// rule: no type has more than 255 fields.
func closeCBOR(dst []byte, start, n int) []byte {
	if n <= maxTiny {
		dst[start] = byte(cbor.Map) | byte(n)
		return dst
	}
	var head [9]byte
	h := cbor.AppendMap(head[:0], n)
	return slices.Replace(dst, start, start+1, h...)
}

// cborFields appends the pairs of a message and returns their number.
//
// It is one loop with the common kinds of value in place, because it runs for
// every field of every object.
func (r *run) cborFields(dst, b []byte, p *plan) (_ []byte, pairs int, err error) {
	if err := r.enter(p, b); err != nil {
		return dst, 0, err
	}
	low := len(r.spans)
	spans, present, err := r.index(b, p)
	if err != nil {
		return dst, 0, err
	}
	for todo := present&p.shown | p.always; todo != 0; {
		i := todo.pop()
		f := &p.fields[i]
		if !present.has(i) {
			dst = append(dst, f.cbor.zero...)
			pairs += f.cbor.pairs
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
			dst = cbor.AppendString(append(dst, f.cbor.key...), v)
		case opInt32, opInt64, opBool, opUint32, opUint64, opFloat64:
			v := number(b, s, f.op)
			if v == 0 && f.omitEmpty {
				continue
			}
			dst, err = r.cborNumber(append(dst, f.cbor.key...), f.op, v, b, p)
		case opBytes:
			if s.start == s.end && f.omitEmpty {
				continue
			}
			dst = cbor.AppendBase64(append(dst, f.cbor.key...), b[s.start:s.end])
		case opTime, opMicroTime: // the last one counts, nothing is merged
			dst, n, err = r.cborTimeField(dst, b[s.start:s.end], f, p)
		case opRepeated:
			dst, err = r.cborElements(append(dst, f.cbor.key...), b, s, f, p)
		case opMap:
			dst, err = r.cborMap(append(dst, f.cbor.key...), b, s, f, p)
		default:
			dst, n, err = r.cborPart(dst, b, s, f, p)
		}
		if err != nil {
			return dst, 0, err
		}
		pairs += n
	}
	r.spans = r.spans[:low]
	r.depth--
	return dst, pairs, nil
}

// cborNumber appends a number or bool.
func (r *run) cborNumber(dst []byte, o op, v uint64, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opInt32:
		return cbor.AppendInt(dst, int64(int32(v))), nil
	case opInt64:
		return cbor.AppendInt(dst, int64(v)), nil
	case opBool:
		return cbor.AppendBool(dst, v != 0), nil
	case opUint32:
		return cbor.AppendHead(dst, cbor.Uint, uint64(uint32(v))), nil
	case opUint64:
		return cbor.AppendHead(dst, cbor.Uint, v), nil
	}
	x := math.Float64frombits(v)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return dst, r.fail(ErrValue, p, b, 0)
	}
	return cbor.AppendFloat(dst, x), nil
}

// cborPart appends a member that is a message on the wire, or all its members
// if it is inlined, and returns their number.
func (r *run) cborPart(dst, b []byte, s span, f *planField, p *plan) ([]byte, int, error) {
	part, err := r.part(b, s, p, f.num)
	if err != nil {
		return dst, 0, err
	}
	if f.op == opInline {
		return r.cborFields(dst, part, f.sub)
	}
	dst, err = r.cborValue(append(dst, f.cbor.key...), f.op, f.sub, part, p)
	return dst, 1, err
}

// cborValue appends one value that is length-delimited on the wire: a field, an
// element of a slice or a value of a map.
func (r *run) cborValue(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opString:
		return cbor.AppendString(dst, b), nil
	case opBytes:
		return cbor.AppendBase64(dst, b), nil
	case opMessage:
		start := len(dst)
		dst, n, err := r.cborFields(append(dst, 0), b, sub)
		if err != nil {
			return dst, err
		}
		return closeCBOR(dst, start, n), nil
	case opNames:
		return r.cborNames(dst, b, p)
	}
	return r.cborSpecial(dst, o, sub, b, p)
}

// cborNames appends a slice type that is a message of its own.
func (r *run) cborNames(dst, b []byte, p *plan) ([]byte, error) {
	if err := r.checkNames(b, p); err != nil {
		return dst, err
	}
	n := 0
	for i := 0; i < len(b); n++ {
		f, _ := readField(b, i) // checked
		i = f.end
	}
	dst = cbor.AppendArray(dst, n)
	for i := 0; i < len(b); {
		f, _ := readField(b, i)
		dst = cbor.AppendString(dst, b[f.start:f.end])
		i = f.end
	}
	return dst, nil
}

// cborElements appends a slice; its length is known from the index.
func (r *run) cborElements(dst, b []byte, s span, f *planField, p *plan) (_ []byte, err error) {
	dst = cbor.AppendArray(dst, int(s.n))
	if f.elem.wireType() != wireBytes {
		return r.cborNumbers(dst, b, s, f, p)
	}
	end := int(s.end)
	for i, stop := element(b, int(s.start), end, f); i >= 0; i, stop = element(b, stop, end, f) {
		if dst, err = r.cborValue(dst, f.elem, f.sub, b[i:stop], p); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// cborNumbers appends the elements of a slice of numbers or bools, which may
// come packed.
func (r *run) cborNumbers(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	for i := int(s.start); i < int(s.end); {
		w, err := readField(b, i)
		switch {
		case err != nil:
			return dst, r.fail(err, p, b, i)
		case w.num != f.num:
		case w.typ == wireBytes:
			dst, err = r.cborPacked(dst, b[w.start:w.end], f, p)
		default:
			dst, err = r.cborNumber(dst, f.elem, w.value, b, p)
		}
		if err != nil {
			return dst, err
		}
		i = w.end
	}
	return dst, nil
}

// cborPacked appends the numbers of a packed field.
func (r *run) cborPacked(dst, b []byte, f *planField, p *plan) (_ []byte, err error) {
	for i := 0; i < len(b) && err == nil; {
		var v uint64
		if v, i = nextPacked(b, i, f.elem); i < 0 {
			return dst, r.fail(varintError(i), p, b, 0)
		}
		dst, err = r.cborNumber(dst, f.elem, v, b, p)
	}
	return dst, err
}

// cborMap appends a map. If its keys are in order, as the apiserver has them,
// none comes twice and their number is that of the entries.
func (r *run) cborMap(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	start := len(dst)
	dst = cbor.AppendMap(dst, int(s.n))
	var last []byte
	end := int(s.end)
	for i, stop := element(b, int(s.start), end, f); i >= 0; i, stop = element(b, stop, end, f) {
		m, err := r.readPair(b[i:stop], f, p)
		if err != nil {
			return dst, err
		}
		if last != nil && bytes.Compare(last, m.key) >= 0 {
			return r.cborUnsorted(dst[:start], b, s, f, p)
		}
		last = m.key
		if dst, err = r.cborEntry(dst, m, f, p); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// cborEntry appends one pair of a map.
func (r *run) cborEntry(dst []byte, m pair, f *planField, p *plan) ([]byte, error) {
	dst = cbor.AppendString(dst, m.key)
	if !m.hasValue {
		return append(dst, f.cbor.value...), nil
	}
	if f.elem.wireType() != wireBytes {
		return r.cborNumber(dst, f.elem, m.number, nil, p)
	}
	return r.cborValue(dst, f.elem, f.sub, m.value, p)
}

// cborUnsorted appends a map whose keys are not in order, or come twice.
func (r *run) cborUnsorted(dst, b []byte, s span, f *planField, p *plan) ([]byte, error) {
	low, err := r.sortPairs(b, s, f, p)
	if err != nil {
		return dst, err
	}
	dst = cbor.AppendMap(dst, len(r.pairs)-low)
	for i := low; i < len(r.pairs); i++ { // r.pairs may move underneath
		if dst, err = r.cborEntry(dst, r.pairs[i], f, p); err != nil {
			return dst, err
		}
	}
	r.dropPairs(low)
	return dst, nil
}
