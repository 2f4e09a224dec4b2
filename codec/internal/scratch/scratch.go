// Package scratch lends buffers for one object on its way through an intermediate encoding.
package scratch

import "sync"

// maxKept is the capacity above which a buffer is not kept: one huge object must not pin its size.
const maxKept = 4 << 20

// Buffer is a buffer on loan. Its user replaces B as append does.
type Buffer struct{ B []byte }

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// Get returns an empty buffer, which the caller must give back with Put.
func Get() *Buffer { return buffers.Get().(*Buffer) }

// Through appends the output of second for the output of first: first appends to a buffer, second to dst.
func Through(dst []byte, first func(buf []byte) ([]byte, error), second func(dst, src []byte) ([]byte, error)) ([]byte, error) {
	s := Get()
	defer s.Put()
	var err error
	if s.B, err = first(s.B); err != nil {
		return dst, err
	}
	return second(dst, s.B)
}

// Put gives the buffer back. Nothing may alias B any more.
func (b *Buffer) Put() {
	if cap(b.B) > maxKept {
		return
	}
	b.B = b.B[:0]
	buffers.Put(b)
}
