package tree

import (
	"errors"
	"sync/atomic"
)

// Memos are the memoized values of one thing that does not change. Reading takes no lock. They are not copied.
type Memos struct {
	list    atomic.Pointer[memoCell]
	retired atomic.Bool
}

// memo is one memoized value, or one that a reader is about to make. All readers that came meanwhile go on at once when it
// is made: behind a mutex they would go on one after the other, before the first of them has written anything.
type memo struct {
	owner   *Memos
	key     any
	charge  *charge
	touched atomic.Bool // used since the hand of the budget passed

	made  atomic.Bool   // value and err are set
	ready chan struct{} // closed after made is set, or when build has panicked
	value any
	err   error
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

// ErrPanicked is returned to readers that have waited for a value whose build has panicked.
var ErrPanicked = errors.New("what makes a shared value has panicked")

// Make returns the value for a key, which build makes if there is none. Concurrent callers wait for one build. The size that
// build returns is the approximate memory of the value in bytes. The value must not be changed.
func (s *Memos) Make(b *Budget, key any, build func() (value any, size int64, err error)) (any, error) {
	if m := s.find(key); m != nil {
		return m.wait()
	}
	m := &memo{owner: s, key: key, charge: &charge{budget: b}, ready: make(chan struct{}), err: ErrPanicked}
	for {
		head := s.list.Load()
		if other := head.find(key); other != nil {
			return other.wait()
		}
		if s.retired.Load() {
			value, _, err := build()
			return value, err
		}
		if s.list.CompareAndSwap(head, &memoCell{m, head}) {
			return m.make(build)
		}
	}
}

// make makes the value, and keeps it if the budget allows.
func (m *memo) make(build func() (value any, size int64, err error)) (any, error) {
	b, kept := m.charge.budget, false
	defer func() {
		if !kept {
			m.owner.remove(m)
		}
		close(m.ready)
	}()
	value, size, err := build()
	m.value, m.err = value, err
	m.made.Store(true)
	if err != nil || m.owner.retired.Load() || !b.fits(size) {
		return value, err
	}
	_, part := m.key.(partKey)
	m.touched.Store(!part) // memos of selections are evicted first, unless another read uses them
	m.charge.take(size)
	b.admit(m)
	kept = !m.owner.retired.Load()
	return value, nil
}

// wait waits until the value is made.
func (m *memo) wait() (any, error) {
	if !m.made.Load() { // a closed channel would cost a lock
		<-m.ready
	}
	m.touch()
	return m.value, m.err
}

// touch tells the budget that the memo is used. It writes no value that is the same, for readers on other processors.
func (m *memo) touch() {
	if !m.touched.Load() {
		m.touched.Store(true)
	}
}

// Recall returns the value for a key, if there is one.
func (s *Memos) Recall(key any) (value any, ok bool) {
	m := s.find(key)
	if m == nil || !m.made.Load() || m.err != nil {
		return nil, false
	}
	m.touch()
	return m.value, true
}

// Has reports whether there is a value for a key, or one is being made.
func (s *Memos) Has(key any) bool { return s.find(key) != nil }

func (s *Memos) find(key any) *memo { return s.list.Load().find(key) }

// find returns the memo of a key in the list from c on, nil if there is none.
func (c *memoCell) find(key any) *memo {
	for ; c != nil; c = c.next {
		if c.key == key {
			return c.memo
		}
	}
	return nil
}

// remove removes a memo. It builds a new list, because readers may be iterating over the old one.
func (s *Memos) remove(gone *memo) {
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

// Retire removes all memos and keeps no new ones: each reader makes the value for itself. It does not wait for one that is
// being made.
func (s *Memos) Retire() {
	s.retired.Store(true)
	for c := s.list.Swap(nil); c != nil; c = c.next {
		c.charge.release()
	}
}

// Retired reports whether no memos are kept.
func (s *Memos) Retired() bool { return s.retired.Load() }

// maxParts is the most memos of parts that a segment has: readers choose the selections, and each reader of
// the segment looks through its memos one by one.
const maxParts = 32

// makeRoom makes room for the memo of a part. It removes one that has not been used since the last
// call which found none, and reports false if all have been.
func (s *Memos) makeRoom() bool {
	parts := s.parts()
	if len(parts) < maxParts {
		return true
	}
	for _, m := range parts {
		if m.made.Load() && !m.touched.Load() {
			s.remove(m)
			return true
		}
	}
	for _, m := range parts {
		m.touched.Store(false)
	}
	return false
}

func (s *Memos) parts() (parts []*memo) {
	for c := s.list.Load(); c != nil; c = c.next {
		if _, part := c.key.(partKey); part {
			parts = append(parts, c.memo)
		}
	}
	return parts
}
