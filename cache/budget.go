package cache

import (
	"runtime"
	"sync"
	"sync/atomic"
	"weak"
)

// Budget bounds the memory of what is memoized on segments, over all stores
// that share it. Beyond it, what was not used for longest goes first, by the
// clock algorithm: a hand passes over the memos and takes those that nobody has
// used since it last passed.
//
// A nil Budget has no room: nothing is kept.
type Budget struct {
	limit int64
	used  atomic.Int64 // bytes of memos that are alive

	mu   sync.Mutex // guards all below
	ring []weak.Pointer[memo]
	hand int
}

// NewBudget returns a budget of so many bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used returns how many bytes are memoized.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// Limit returns the size of the budget.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// charge is a memo's share of the budget, given back once.
type charge struct {
	budget *Budget
	size   int64
	back   atomic.Bool
}

func (c *charge) giveBack() {
	if !c.back.Swap(true) {
		c.budget.used.Add(-c.size)
	}
}

func (b *Budget) fits(size int64) bool { return b != nil && size <= b.limit }

func (b *Budget) charge(size int64) *charge {
	b.used.Add(size)
	return &charge{budget: b, size: size}
}

// admit makes room for a memo that has been charged. The ring does not keep
// memos alive: those of segments that are gone go with them.
func (b *Budget) admit(m *memo) {
	runtime.AddCleanup(m, (*charge).giveBack, m.charge)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ring = append(b.ring, weak.Make(m))
	b.tidy()
	b.sweep()
}

// tidy looks at two entries for each that comes, so that those of memos that
// are gone leave though there is room.
func (b *Budget) tidy() {
	for range 2 {
		if b.hand >= len(b.ring) {
			b.hand = 0
		}
		if m := b.ring[b.hand].Value(); m == nil || m.charge.back.Load() {
			if b.drop(); len(b.ring) == 0 {
				return
			}
		} else {
			b.hand++
		}
	}
}

// sweep moves the hand until the budget is kept: twice round at most, after
// which nothing is left that was not touched meanwhile.
func (b *Budget) sweep() {
	for steps := 2*len(b.ring) + 1; steps > 0 && len(b.ring) > 0 && b.used.Load() > b.limit; steps-- {
		if b.hand >= len(b.ring) {
			b.hand = 0
		}
		m := b.ring[b.hand].Value()
		switch {
		case m == nil || m.charge.back.Load():
			b.drop()
		case m.touched.Swap(false):
			b.hand++
		default:
			m.owner.forget(m)
			b.drop()
		}
	}
}

// drop takes the entry under the hand out of the ring, whose order is of no
// importance.
func (b *Budget) drop() {
	last := len(b.ring) - 1
	b.ring[b.hand] = b.ring[last]
	b.ring = b.ring[:last]
}
