package tree

import (
	"runtime"
	"sync"
	"sync/atomic"
	"weak"
)

// Budget bounds the memory of the memos of all stores that share it. It evicts memos by the CLOCK
// algorithm: a hand moves over the memos and evicts each that no reader has used since the hand
// last passed.
//
// A nil Budget keeps no memos.
type Budget struct {
	limit   atomic.Int64
	used    atomic.Int64 // bytes of the memos that are alive
	evicted atomic.Int64 // bytes of all memos that were evicted

	mu   sync.Mutex // guards the fields below
	ring []weak.Pointer[memo]
	hand int
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget {
	b := &Budget{}
	b.limit.Store(limit)
	return b
}

// SetLimit changes the limit. Memos beyond it are evicted.
func (b *Budget) SetLimit(limit int64) {
	b.limit.Store(limit)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.evict()
}

// Used returns the approximate memory of the memos, in bytes.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// Evicted returns the approximate memory of all memos that had to make room for others, in bytes.
func (b *Budget) Evicted() int64 {
	if b == nil {
		return 0
	}
	return b.evicted.Load()
}

// Limit returns the limit in bytes.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit.Load()
}

// charge is the share of one memo in the budget: nothing until it takes it, and once it is released.
type charge struct {
	budget   *Budget
	size     atomic.Int64
	released atomic.Bool
}

// take takes bytes of the budget. It may run beside release.
func (c *charge) take(size int64) {
	c.budget.used.Add(size)
	c.size.Store(size)
	if c.released.Load() {
		c.giveBack()
	}
}

// release returns the bytes to the budget. Only the first call has an effect.
func (c *charge) release() {
	c.released.Store(true)
	c.giveBack()
}

func (c *charge) giveBack() {
	if n := c.size.Swap(0); n > 0 {
		c.budget.used.Add(-n)
	}
}

func (b *Budget) fits(size int64) bool { return b != nil && size <= b.limit.Load() }

// admit adds a memo that has been charged, and evicts others to keep the limit. The ring holds weak
// pointers, so that the memos of segments that no snapshot has are freed with them.
func (b *Budget) admit(m *memo) {
	runtime.AddCleanup(m, (*charge).release, m.charge)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ring = append(b.ring, weak.Make(m))
	b.prune()
	b.evict()
}

// prune checks two entries for each one that is added, so that released entries leave the ring even
// while the limit is kept.
func (b *Budget) prune() {
	for range 2 {
		if b.hand >= len(b.ring) {
			b.hand = 0
		}
		if m := b.ring[b.hand].Value(); m == nil || m.charge.released.Load() {
			if b.drop(); len(b.ring) == 0 {
				return
			}
		} else {
			b.hand++
		}
	}
}

// evict moves the hand until the limit is kept. It makes two rounds at most: the second round finds
// only memos that readers have used in the meantime.
func (b *Budget) evict() {
	for steps := 2*len(b.ring) + 1; steps > 0 && len(b.ring) > 0 && b.used.Load() > b.limit.Load(); steps-- {
		if b.hand >= len(b.ring) {
			b.hand = 0
		}
		m := b.ring[b.hand].Value()
		switch {
		case m == nil || m.charge.released.Load():
			b.drop()
		case m.touched.Swap(false):
			b.hand++
		default:
			b.evicted.Add(m.charge.size.Load())
			m.owner.remove(m)
			b.drop()
		}
	}
}

// drop removes the entry at the hand. The order of the ring does not matter.
func (b *Budget) drop() {
	last := len(b.ring) - 1
	b.ring[b.hand] = b.ring[last]
	b.ring = b.ring[:last]
}
