package codec

import "sync"

// maxScratch is the capacity above which a scratch buffer is not kept: one huge object must not pin its size for ever.
const maxScratch = 4 << 20

// scratch is a reusable buffer for one object on its way through an intermediate encoding.
type scratch struct{ b []byte }

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func getScratch() *scratch { return scratches.Get().(*scratch) }

// put gives the buffer back. Nothing may alias s.b any more.
func (s *scratch) put() {
	if cap(s.b) > maxScratch {
		return
	}
	s.b = s.b[:0]
	scratches.Put(s)
}
