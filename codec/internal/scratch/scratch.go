// Package scratch has buffers for objects on their way through an intermediate encoding.
package scratch

import "sync"

// maxKept is the capacity above which a buffer is not kept: one huge object must not pin its size.
const maxKept = 4 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Through appends the output of second for the output of first: first appends to a buffer, second to dst. Nothing may
// alias the buffer afterwards.
func Through(dst []byte, first func(buf []byte) ([]byte, error), second func(dst, src []byte) ([]byte, error)) ([]byte, error) {
	kept := buffers.Get().(*[]byte)
	buf, err := first((*kept)[:0])
	if err == nil {
		dst, err = second(dst, buf)
	}
	if cap(buf) <= maxKept {
		*kept = buf
		buffers.Put(kept)
	}
	return dst, err
}
