package tree

import (
	"sync"
	"sync/atomic"
)

// memos are the memoized values of one segment. They are not copied.
type memos struct {
	list     atomic.Pointer[memoCell]
	building sync.Mutex  // serializes the building of memos, so that each is built once
	retired  atomic.Bool // the newest tree does not have the segment
}

// memo is one memoized value. Only touched changes after the list has it.
type memo struct {
	owner   *memos
	key     any
	value   any
	charge  *charge
	touched atomic.Bool // used since the hand of the budget passed
}

// memoCell is a cell of the linked list of memos.
type memoCell struct {
	*memo
	next *memoCell
}

// partKey is the key of a memo of a part of a segment.
type partKey struct {
	set uint64
	key any
}

// make returns the value for a key, which build makes if there is none.
func (s *memos) make(b *Budget, key any, build func() (value any, size int64, err error)) (any, error) {
	s.building.Lock()
	defer s.building.Unlock()
	if m := s.find(key); m != nil {
		return m.value, nil
	}
	value, size, err := build()
	if err != nil || s.retired.Load() || !b.fits(size) {
		return value, err
	}
	m := &memo{owner: s, key: key, value: value, charge: b.charge(size)}
	_, part := key.(partKey)
	m.touched.Store(!part) // memos of selections are evicted first, unless another read uses them
	s.add(m)
	b.admit(m)
	if s.retired.Load() {
		s.remove(m)
	}
	return value, nil
}

// recall returns the value for a key, if there is one.
func (s *memos) recall(key any) (value any, ok bool) {
	m := s.find(key)
	if m == nil {
		return nil, false
	}
	m.touched.Store(true)
	return m.value, true
}

func (s *memos) find(key any) *memo {
	for c := s.list.Load(); c != nil; c = c.next {
		if c.key == key {
			return c.memo
		}
	}
	return nil
}

func (s *memos) add(m *memo) {
	for {
		head := s.list.Load()
		if s.list.CompareAndSwap(head, &memoCell{m, head}) {
			return
		}
	}
}

// remove removes a memo. It builds a new list, because readers may be iterating over the old one.
func (s *memos) remove(gone *memo) {
	for {
		head := s.list.Load()
		var rest *memoCell
		for c := head; c != nil; c = c.next {
			if c.memo != gone {
				rest = &memoCell{c.memo, rest}
			}
		}
		if s.list.CompareAndSwap(head, rest) {
			break
		}
	}
	gone.charge.release()
}

// retire removes all memos when the newest tree no longer has the segment. Readers of older trees encode the
// segment for themselves.
func (s *memos) retire() {
	s.retired.Store(true)
	for c := s.list.Swap(nil); c != nil; c = c.next {
		c.charge.release()
	}
}

// maxParts is the most memos of parts that a segment has: readers choose the selections, and each reader of
// the segment looks through its memos one by one.
const maxParts = 32

// makeRoom makes room for the memo of a part. It removes one that has not been used since the last
// call which found none, and reports false if all have been.
func (s *memos) makeRoom() bool {
	parts := s.parts()
	if len(parts) < maxParts {
		return true
	}
	for _, m := range parts {
		if !m.touched.Load() {
			s.remove(m)
			return true
		}
	}
	for _, m := range parts {
		m.touched.Store(false)
	}
	return false
}

func (s *memos) parts() (parts []*memo) {
	for c := s.list.Load(); c != nil; c = c.next {
		if _, part := c.key.(partKey); part {
			parts = append(parts, c.memo)
		}
	}
	return parts
}
