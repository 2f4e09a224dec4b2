package cache

import "sync/atomic"

// memo is one memoized value of a segment. It must not be changed once the
// segment has it, but for touched.
type memo struct {
	owner   *Segment
	key     any
	value   any
	charge  *charge
	touched atomic.Bool // since the budget's hand last passed
}

// memoCell is a cell of a segment's list of memos.
type memoCell struct {
	*memo
	next *memoCell
}

// Memo returns the value that build makes of the segment's objects, the same
// for equal keys as long as it is kept. The value must not be changed; size is
// about how many bytes it holds. It is built once for all who want it at the
// same time.
func (s *Segment) Memo(b *Budget, key any, build func(objects []*Object) (value any, size int64, err error)) (any, error) {
	if m := s.find(key); m != nil {
		m.touched.Store(true)
		return m.value, nil
	}
	s.building.Lock()
	defer s.building.Unlock()
	if m := s.find(key); m != nil {
		return m.value, nil
	}
	value, size, err := build(s.objects)
	if err != nil || s.retired.Load() || !b.fits(size) {
		return value, err
	}
	m := &memo{owner: s, key: key, value: value, charge: b.charge(size)}
	m.touched.Store(true)
	s.remember(m)
	b.admit(m)
	if s.retired.Load() {
		s.forget(m)
	}
	return value, nil
}

func (s *Segment) find(key any) *memo {
	for c := s.memos.Load(); c != nil; c = c.next {
		if c.key == key {
			return c.memo
		}
	}
	return nil
}

func (s *Segment) remember(m *memo) {
	for {
		head := s.memos.Load()
		if s.memos.CompareAndSwap(head, &memoCell{m, head}) {
			return
		}
	}
}

// forget takes a memo off the segment. Readers may be walking the list, so it
// is made anew.
func (s *Segment) forget(gone *memo) {
	for {
		head := s.memos.Load()
		var rest *memoCell
		for c := head; c != nil; c = c.next {
			if c.memo != gone {
				rest = &memoCell{c.memo, rest}
			}
		}
		if s.memos.CompareAndSwap(head, rest) {
			break
		}
	}
	gone.charge.giveBack()
}

// retire forgets all memos: the segment is no longer part of the newest state.
// Whoever still reads it encodes for themselves.
func (s *Segment) retire() {
	s.retired.Store(true)
	for c := s.memos.Swap(nil); c != nil; c = c.next {
		c.charge.giveBack()
	}
}
