package proto

import (
	"slices"

	"sluice/codec/cbor"
)

// maxTiny is the largest argument that fits into the first byte of a CBOR item.
const maxTiny = 23

// typeMetaPairs is the number of pairs in Schema.cborTypeMeta.
const typeMetaPairs = 2

// AppendCBOR appends a raw object in the apiserver's CBOR profile: strings and names as byte
// strings, []byte with tag 22, integers and floats by their Go types, definite lengths, times as
// strings. Members are in struct order after kind and apiVersion; the apiserver shuffles them. The
// caller adds the self-described tag.
//
// It returns the errors of Check, and cbor.ErrNumber. On error dst is returned unchanged.
func (s *Schema) AppendCBOR(dst, raw []byte) ([]byte, error) {
	return s.appendCBOR(dst, raw, s.cborTypeMeta, typeMetaPairs)
}

// AppendCBORItem appends a raw object like AppendCBOR, but without kind and apiVersion: the form of
// a list item.
func (s *Schema) AppendCBORItem(dst, raw []byte) ([]byte, error) {
	return s.appendCBOR(dst, raw, "", 0)
}

func (s *Schema) appendCBOR(dst, raw []byte, typeMeta string, pairs int) ([]byte, error) {
	tc, err := newTranscoder(raw)
	if err != nil {
		return dst, err
	}
	defer tc.free()
	start := len(dst)
	dst, n, err := tc.cborFields(append(append(dst, 0), typeMeta...), raw, s.plan)
	if err != nil {
		return dst[:start], err
	}
	return closeCBOR(dst, start, n+pairs), nil
}

// closeCBOR writes the head of a map of n pairs into the byte at start, which was left free; the
// pairs are everything after it. More than 23 pairs are moved by one byte, because no type has more
// than 255 fields.
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
// The common kinds of value are handled in the loop itself, because it runs for every field of
// every object.
func (tc *transcoder) cborFields(dst, b []byte, p *plan) (_ []byte, pairs int, err error) {
	if err := tc.enter(p, b); err != nil {
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
		if !present.has(i) {
			dst = append(dst, f.cbor.absent...)
			pairs += f.cbor.absentPairs
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
			dst, err = tc.cborNumber(append(dst, f.cbor.key...), f.op, v, b, p)
		case opBytes:
			if s.start == s.end && f.omitEmpty {
				continue
			}
			dst = cbor.AppendBase64(append(dst, f.cbor.key...), b[s.start:s.end])
		case opTime, opMicroTime: // the last occurrence counts, nothing is merged
			dst, n, err = tc.cborTimeField(dst, b[s.start:s.end], f, p)
		case opRepeated:
			dst, err = tc.cborElements(append(dst, f.cbor.key...), b, s, f, p)
		case opMap:
			dst, err = tc.cborMap(append(dst, f.cbor.key...), b, s, f, p)
		default:
			dst, n, err = tc.cborMessageField(dst, b, s, f, p)
		}
		if err != nil {
			return dst, 0, err
		}
		pairs += n
	}
	tc.spans = tc.spans[:low]
	tc.depth--
	return dst, pairs, nil
}

// cborMessageField appends the pair of a field that is a message on the wire, or all pairs of the
// message if it is inlined, and returns the number of pairs.
func (tc *transcoder) cborMessageField(dst, b []byte, s span, f *planField, p *plan) ([]byte, int, error) {
	part, err := tc.messageBytes(b, s, p, f.num)
	if err != nil {
		return dst, 0, err
	}
	if f.op == opInline {
		return tc.cborFields(dst, part, f.sub)
	}
	dst, err = tc.cborValue(append(dst, f.cbor.key...), f.op, f.sub, part, p)
	return dst, 1, err
}

// cborValue appends one value that is length-delimited on the wire: a field, an element of a slice
// or a value of a map.
func (tc *transcoder) cborValue(dst []byte, o op, sub *plan, b []byte, p *plan) ([]byte, error) {
	switch o {
	case opString:
		return cbor.AppendString(dst, b), nil
	case opBytes:
		return cbor.AppendBase64(dst, b), nil
	case opMessage:
		start := len(dst)
		dst, n, err := tc.cborFields(append(dst, 0), b, sub)
		if err != nil {
			return dst, err
		}
		return closeCBOR(dst, start, n), nil
	case opStringList:
		return tc.cborStringList(dst, b, p)
	}
	return tc.cborCustom(dst, o, sub, b, p)
}
