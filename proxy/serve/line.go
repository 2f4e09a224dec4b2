package serve

import (
	"sluice/proxy/heap"
)

// line is the claims of one resource that wait, those of system callers apart. A heap has those of one kind, in their order.
type line struct {
	ready      [parts][2]heap.Heap[*claim] // long reads apart
	recovering [parts]heap.Heap[*claim]
}

func newLine() *line {
	ordered := func() heap.Heap[*claim] {
		return heap.New((*claim).before, func(c *claim) *int { return &c.place })
	}
	l := &line{}
	for p := range parts {
		l.ready[p], l.recovering[p] = [2]heap.Heap[*claim]{ordered(), ordered()}, ordered()
	}
	return l
}

// update puts a claim into its heap, or takes it out.
func (l *line) update(c *claim, in bool) {
	switch last := c.last(); {
	case c.recovers:
		l.recovering[last].Update(c, in)
	case c.long():
		l.ready[last][1].Update(c, in)
	default:
		l.ready[last][0].Update(c, in)
	}
}

// recover says whether a claim that waits does so for its store.
func (l *line) recover(c *claim, recovers bool) {
	l.update(c, false)
	c.recovers = recovers
	l.update(c, true)
}

func (l *line) empty() bool {
	for p := range parts {
		if len(l.ready[p][0].All)+len(l.ready[p][1].All)+len(l.recovering[p].All) > 0 {
			return false
		}
	}
	return true
}

// next returns the claim whose turn it is and the part that it may get room of, of those that are not full; nil if there is none.
func (l *line) next(full *[parts]bool) (first *claim, of part) {
	for _, kinds := range l.ready {
		for _, kind := range kinds {
			if len(kind.All) == 0 {
				continue
			}
			c := kind.All[0]
			for p := common; p <= c.last(); p++ {
				if full[p] || c.long() && l.recoversBefore(c, p) {
					continue
				}
				if first == nil || c.before(first) {
					first, of = c, p
				}
				break
			}
		}
	}
	return first, of
}

// recoversBefore reports whether a claim that may be charged to a part waits for its store, and has its turn before c.
func (l *line) recoversBefore(c *claim, p part) bool {
	for _, kind := range l.recovering[p:] {
		if len(kind.All) > 0 && kind.All[0].before(c) {
			return true
		}
	}
	return false
}
