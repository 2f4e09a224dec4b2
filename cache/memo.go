package cache

import "sync/atomic"

// memo is one memoized value of a segment. Only touched changes after the segment has it.
type memo struct {
	owner   *Segment
	key     any
	value   any
	charge  *charge
	touched atomic.Bool // used since the hand of the budget passed
}

// memoCell is a cell of the linked list of a segment's memos.
type memoCell struct {
	*memo
	next *memoCell
}

// Memo returns the value that build makes of the segment's objects. Callers with equal keys share
// the value as long as the budget keeps it, and concurrent callers wait for one build. The size
// that build returns is the approximate memory of the value in bytes. The value must not be
// changed.
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
	_, part := key.(partKey)
	m.touched.Store(!part) // those of selections are evicted first, unless one uses them again
	s.add(m)
	b.admit(m)
	if s.retired.Load() {
		s.remove(m)
	}
	return value, nil
}

// Recall returns the value that Memo keeps for the key, if it still does.
func (s *Segment) Recall(key any) (value any, ok bool) {
	m := s.find(key)
	if m == nil {
		return nil, false
	}
	m.touched.Store(true)
	return m.value, true
}

func (s *Segment) find(key any) *memo {
	for c := s.memos.Load(); c != nil; c = c.next {
		if c.key == key {
			return c.memo
		}
	}
	return nil
}

func (s *Segment) add(m *memo) {
	for {
		head := s.memos.Load()
		if s.memos.CompareAndSwap(head, &memoCell{m, head}) {
			return
		}
	}
}

// remove removes a memo. It builds a new list, because readers may be iterating over the old one.
func (s *Segment) remove(gone *memo) {
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
	gone.charge.release()
}

// retire removes all memos when the newest state no longer has the segment. Readers of older
// snapshots encode the segment for themselves.
func (s *Segment) retire() {
	s.retired.Store(true)
	for c := s.memos.Swap(nil); c != nil; c = c.next {
		c.charge.release()
	}
}
