package proto

import (
	"math"
	"slices"
	"sync"
)

// maxDepth bounds how deep messages, and JSON inside them, may nest.
const maxDepth = 10000

// A transcoder is the state of one walk over one raw object. Transcoders are pooled.
type transcoder struct {
	notation
	spans   []span // a stack with one frame per open message
	scratch []byte // for output of Check
	depth   int    // levels of messages that are open
}

// A span is the position of a field in its message.
type span struct {
	start, end uint32 // of the payload; of a repeated field, from its first tag to its last end
	n          uint32 // occurrences
}

var transcoderPool = sync.Pool{New: func() any { return new(transcoder) }}

// maxPooled bounds the scratch that a pooled transcoder keeps, in spans and bytes.
// Transcoders that have grown beyond it are not pooled.
const maxPooled = 1 << 16

// newTranscoder takes a transcoder for one raw object from the pool. Error: ErrTooLarge.
func newTranscoder(raw []byte) (*transcoder, error) {
	if len(raw) > math.MaxInt32 {
		return nil, in(ErrTooLarge, "object")
	}
	return transcoderPool.Get().(*transcoder), nil
}

// free returns tc to the pool.
func (tc *transcoder) free() {
	if cap(tc.spans) > maxPooled || cap(tc.scratch) > maxPooled {
		return
	}
	*tc = transcoder{spans: tc.spans[:0], scratch: tc.scratch[:0]}
	transcoderPool.Put(tc)
}

// fieldsOf is walk for a message of few fields, all of them known.
func (p *plan) fieldsOf(b []byte, types []uint8, do func(f field, v []byte)) error {
	if err := walk(b, types, true, do); err != nil {
		return p.error(err)
	}
	return nil
}

// enter counts a level of nesting. Error: ErrTooDeep.
func (tc *transcoder) enter(p *plan) error {
	if tc.depth++; tc.depth > maxDepth {
		return p.error(ErrTooDeep)
	}
	return nil
}

// indexFields finds the position of each field of the message b. present holds the fields of the
// plan that are on the wire, and only their spans are valid. The spans belong to a frame that the
// caller pops by truncating tc.spans to its previous length.
//
// It is one loop, because it reads every tag of every object: tags and lengths of one byte are the
// common case and are decoded in place.
func (tc *transcoder) indexFields(b []byte, p *plan) (spans []span, present set, err error) {
	spans = tc.pushSpans(len(p.fields))
	for i := 0; i < len(b); {
		head := i
		tag := uint64(b[i])
		if i++; tag >= 0x80 {
			if tag, i = longVarint(b, head); i < 0 {
				return nil, present, p.error(varintError(i))
			}
		}
		num := tag >> 3
		if num >= uint64(len(p.wire)) || !p.wire[num].known {
			return nil, present, p.fieldError(unknownTag(num), int(num))
		}
		w := &p.wire[num]
		start, end := i, i
		switch tag & 7 {
		case wireBytes:
			if i >= len(b) {
				return nil, present, p.fieldError(ErrTruncated, int(num))
			}
			size := uint64(b[i])
			if start++; size >= 0x80 {
				if size, start = longVarint(b, i); start < 0 {
					return nil, present, p.fieldError(varintError(start), int(num))
				}
			}
			if size > uint64(len(b)-start) {
				return nil, present, p.fieldError(ErrTruncated, int(num))
			}
			end = start + int(size)
		case wireVarint:
			if _, end = varint(b, i); end < 0 {
				return nil, present, p.fieldError(varintError(end), int(num))
			}
		case wireFixed64:
			if end += 8; end > len(b) {
				return nil, present, p.fieldError(ErrTruncated, int(num))
			}
		case wireFixed32:
			return nil, present, p.fieldError(ErrWireType, int(num))
		default:
			return nil, present, p.fieldError(ErrTag, int(num))
		}
		i = end
		switch {
		case uint8(tag&7) != w.typ:
			return nil, present, p.fieldError(wrongType(w, int(tag&7)), int(num))
		case w.skipZero && (start == end || end-start == 1 && b[start] == 0 && w.typ == wireVarint):
			present &^= 1 << (w.field & 63) // counts as absent
			continue
		}
		s := &spans[w.field]
		switch {
		case !present.has(w.field):
			present.add(w.field)
			if w.repeated {
				start = head
			}
			*s = span{uint32(start), uint32(end), 1}
		case w.repeated:
			s.end, s.n = uint32(end), s.n+1
		default:
			*s = span{uint32(start), uint32(end), s.n + 1}
		}
	}
	return spans, present, nil
}

// pushSpans pushes a frame of n spans.
func (tc *transcoder) pushSpans(n int) []span {
	low := len(tc.spans)
	tc.spans = slices.Grow(tc.spans, n)[:low+n]
	return tc.spans[low:]
}

// unknownTag returns the sentinel for a field number that the plan does not have.
func unknownTag(num uint64) error {
	if num == 0 || num > maxFieldNumber {
		return ErrTag
	}
	return ErrUnknownField
}

// wrongType returns the sentinel for a field with an unexpected wire type. Repeated numbers may be packed.
func wrongType(w *wireField, typ int) error {
	if typ == wireBytes && w.repeated {
		return ErrForm
	}
	return ErrWireType
}

// nextElement finds the payload of the first occurrence of f in b from i on, which must be the
// beginning of a field that indexFields has validated; start is negative if there is none before
// end. The apiserver writes all occurrences in a row, with tags of one or two bytes and mostly
// lengths of one.
func nextElement(b []byte, i, end int, f *planField) (start, stop int) {
	for i < end {
		if i+3 <= end {
			head := uint16(b[i]) | uint16(b[i+1])<<8
			if f.tagLen == 1 && uint8(head) == uint8(f.tagBytes) || head == f.tagBytes && f.tagLen == 2 {
				size, next := varint(b, i+int(f.tagLen))
				return next, next + int(size)
			}
		}
		w, err := readField(b, i)
		if err != nil {
			return -1, -1 // cannot happen: indexFields has validated b
		}
		if w.num == f.num {
			return w.start, w.end
		}
		i = w.end
	}
	return -1, -1
}

// messageBytes returns the payload of a singular message field, which must come in one part.
func (p *plan) messageBytes(b []byte, s span, num int) ([]byte, error) {
	if s.n != 1 {
		return nil, p.fieldError(ErrForm, num)
	}
	return b[s.start:s.end], nil
}
