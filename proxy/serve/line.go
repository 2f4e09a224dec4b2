package serve

import (
	"maps"

	"sluice/proxy/heap"
)

// line is the claims of one resource that wait, those of system callers apart. A heap has those of one kind, in their order.
// It stays while the resource uses the budget, so that callers have their turns.
type line struct {
	ready      [parts][2]heap.Heap[*claim] // long reads apart
	recovering [parts]heap.Heap[*claim]
	waiting    int
	turn       uint64 // the latest that was granted
	callers    map[string]*caller
}

// caller is a caller whose claims wait, or one of whose claims was granted.
type caller struct {
	waiting uint64
	next    uint64 // the turn after that of its last grant
}

// mostCallers bounds the callers without waiting claims whose last turn a line knows.
const mostCallers = 1 << 12

func newLine() *line {
	ordered := func() heap.Heap[*claim] {
		return heap.New((*claim).before, func(c *claim) *int { return &c.place })
	}
	l := &line{callers: map[string]*caller{}}
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

// enter puts a claim into the line: after the others of its caller, and before all but the next one of any other.
func (l *line) enter(c *claim) {
	of := l.callers[c.caller]
	if of == nil {
		of = new(caller)
		l.callers[c.caller] = of
	}
	c.turn = max(l.now(), of.next) + of.waiting
	of.waiting++
	l.waiting++
	l.update(c, true)
}

// leave takes a claim out of the line.
func (l *line) leave(c *claim) {
	l.update(c, false)
	l.callers[c.caller].waiting--
	l.waiting--
}

// granted takes note of a grant.
func (l *line) granted(c *claim) {
	l.turn = max(l.turn, c.turn)
	l.callers[c.caller].next = c.turn + 1
}

// now returns the turn that has come: that of the latest grant, or an earlier one that waits since others were granted out of
// order.
func (l *line) now() uint64 {
	first := l.turn
	for p := range parts {
		for _, kind := range []*heap.Heap[*claim]{&l.ready[p][0], &l.ready[p][1], &l.recovering[p]} {
			if len(kind.All) > 0 {
				first = min(first, kind.All[0].turn)
			}
		}
	}
	return first
}

// forget drops callers whose claims do not wait, once there are too many.
func (l *line) forget() {
	if len(l.callers) > mostCallers+2*l.waiting {
		maps.DeleteFunc(l.callers, func(_ string, c *caller) bool { return c.waiting == 0 })
	}
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
