package proto

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// maxDepth bounds how deep messages may nest, and JSON inside them.
const maxDepth = 10000

// maxMergeFactor bounds the bytes copied to merge messages that come in
// several parts, as a multiple of the object's length. Nobody sends such.
const maxMergeFactor = 64

// A run is the scratch of one transcoding. Runs are pooled.
type run struct {
	root   []byte   // the message, for offsets in errors
	spans  []span   // a stack: one frame per open message
	pairs  []pair   // scratch for maps whose entries must be sorted
	depth  int
	merged int  // bytes copied so far to merge messages
	parts  bool // Check has seen a message in several parts

	scratch []byte // for texts whose length must come before them, and what Check prints
}

// A span is where a field lies in its message.
type span struct {
	start, end uint32 // of the payload; if the field may repeat, from the first tag to the last end
	n          uint32 // occurrences; of packed numbers, elements
}

var runs = sync.Pool{New: func() any { return new(run) }}

// maxKept bounds the scratch that a pooled run keeps, in spans, pairs and bytes.
// Objects that need more pay for it each time.
const maxKept = 1 << 16

// newRun takes a run for one message from the pool.
func newRun(raw []byte) (*run, error) {
	if len(raw) > math.MaxInt32 {
		return nil, at(ErrTooLarge, "object", len(raw))
	}
	r := runs.Get().(*run)
	r.root = raw
	return r, nil
}

// free puts r back.
func (r *run) free() {
	if cap(r.spans) > maxKept || cap(r.pairs) > maxKept || cap(r.scratch) > maxKept {
		return
	}
	r.dropPairs(0) // what an error has left
	*r = run{spans: r.spans[:0], pairs: r.pairs[:0], scratch: r.scratch[:0]}
	runs.Put(r)
}

// offset is where in the whole object the byte b[i] lies: all slices of it end
// where its memory ends. Inside of merged parts there is no such place.
func (r *run) offset(b []byte, i int) int {
	o := cap(r.root) - cap(b) + i
	if o < 0 || o > len(r.root) {
		return i
	}
	return o
}

// fail wraps a sentinel with the message and the offset of b[i].
func (r *run) fail(err error, p *plan, b []byte, i int) error {
	return at(err, p.name, r.offset(b, i))
}

// failField does so, naming the field too.
func (r *run) failField(err error, p *plan, num uint64, b []byte, i int) error {
	return fmt.Errorf("%s field %d at byte %d: %w", p.name, num, r.offset(b, i), err)
}

// enter counts a level of nesting.
func (r *run) enter(p *plan, b []byte) error {
	if r.depth++; r.depth > maxDepth {
		return r.fail(ErrTooDeep, p, b, 0)
	}
	return nil
}

// index finds where each field of the message b lies: present says which of the
// plan's fields are there, spans where; other spans hold rubbish. They are
// valid until the frame is popped by setting r.spans back to its length before.
//
// It is one loop, because it looks at every tag of every object: tags and
// lengths of one byte are the rule and are read in place.
func (r *run) index(b []byte, p *plan) (spans []span, present set, err error) {
	spans = r.push(len(p.fields))
	for i := 0; i < len(b); {
		head := i
		tag := uint64(b[i])
		if i++; tag >= 0x80 {
			if tag, i = longVarint(b, head); i < 0 {
				return nil, present, r.fail(varintError(i), p, b, head)
			}
		}
		num := tag >> 3
		if num >= uint64(len(p.wire)) || !p.wire[num].known {
			return nil, present, r.failField(unknownTag(num), p, num, b, head)
		}
		w := &p.wire[num]
		start, end := i, i
		switch tag & 7 {
		case wireBytes:
			if i >= len(b) {
				return nil, present, r.failField(ErrTruncated, p, num, b, head)
			}
			size := uint64(b[i])
			if start++; size >= 0x80 {
				if size, start = longVarint(b, i); start < 0 {
					return nil, present, r.failField(varintError(start), p, num, b, head)
				}
			}
			if size > uint64(len(b)-start) {
				return nil, present, r.failField(ErrTruncated, p, num, b, head)
			}
			end = start + int(size)
		case wireVarint:
			if _, end = varint(b, i); end < 0 {
				return nil, present, r.failField(varintError(end), p, num, b, head)
			}
		case wireFixed64:
			if end += 8; end > len(b) {
				return nil, present, r.failField(ErrTruncated, p, num, b, head)
			}
		case wireFixed32:
			return nil, present, r.failField(ErrWireType, p, num, b, head)
		default:
			return nil, present, r.failField(ErrTag, p, num, b, head)
		}
		i = end
		n := uint32(1)
		switch {
		case uint8(tag&7) != w.typ:
			if n, err = packed(b[start:end], w, tag); err != nil {
				return nil, present, r.failField(err, p, num, b, head)
			}
			if n == 0 {
				continue // an empty packed field is none
			}
		case w.sparse && (start == end || end-start == 1 && b[start] == 0 && w.typ == wireVarint):
			present &^= 1 << (w.field & 63) // as good as absent
			continue
		}
		s := &spans[w.field]
		switch {
		case !present.has(w.field):
			present.add(w.field)
			if w.many {
				start = head
			}
			*s = span{uint32(start), uint32(end), n}
		case w.many:
			s.end, s.n = uint32(end), s.n+n
		default:
			*s = span{uint32(start), uint32(end), s.n + 1}
		}
	}
	return spans, present, nil
}

// push opens a frame of n spans.
func (r *run) push(n int) []span {
	low := len(r.spans)
	r.spans = slices.Grow(r.spans, n)[:low+n]
	return r.spans[low:]
}

// unknownTag is the sentinel for a field number that the plan does not have.
func unknownTag(num uint64) error {
	if num == 0 || num > maxFieldNumber {
		return ErrTag
	}
	return ErrUnknownField
}

// packed counts the numbers in a packed field: repeated numbers may come as
// one length-delimited field.
func packed(b []byte, w *wireField, tag uint64) (n uint32, err error) {
	if tag&7 != wireBytes || !w.many {
		return 0, ErrWireType
	}
	if w.typ == wireFixed64 {
		if len(b)%8 != 0 {
			return 0, ErrTruncated
		}
		return uint32(len(b) / 8), nil
	}
	for i := 0; i < len(b); n++ {
		if _, i = varint(b, i); i < 0 {
			return 0, varintError(i)
		}
	}
	return n, nil
}

// part returns the payload of a singular message field. If it comes in several
// parts they are joined, which is how protobuf merges messages.
func (r *run) part(b []byte, s span, p *plan, num int) ([]byte, error) {
	if s.n == 1 {
		return b[s.start:s.end], nil
	}
	var joined []byte
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		if err != nil {
			return nil, r.fail(err, p, b, i)
		}
		if f.num == num {
			part := b[f.start:f.end]
			if offset, err := wellFormed(part); err != nil {
				return nil, r.fail(err, p, part, offset)
			}
			joined = append(joined, part...)
		}
		i = f.end
	}
	if r.merged += len(joined); r.merged > maxMergeFactor*len(r.root) {
		return nil, r.failField(ErrTooLarge, p, uint64(num), b, 0)
	}
	return joined, nil
}

// element finds the payload of the first occurrence of f in b from i on, which
// must be a place between two fields that the index has passed; start is
// negative if there is none before end. In what the apiserver sends all
// occurrences follow each other, with tags of one or two bytes and mostly
// lengths of one.
func element(b []byte, i, end int, f *planField) (start, stop int) {
	for i < end {
		if i+3 <= end {
			head := uint16(b[i]) | uint16(b[i+1])<<8
			if f.tag == 1 && uint8(head) == uint8(f.head) || head == f.head && f.tag == 2 {
				size, next := varint(b, i+int(f.tag))
				return next, next + int(size)
			}
		}
		w, err := readField(b, i)
		if err != nil {
			return -1, -1 // the index would have said so
		}
		if w.num == f.num {
			return w.start, w.end
		}
		i = w.end
	}
	return -1, -1
}
