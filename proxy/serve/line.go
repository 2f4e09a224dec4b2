package serve

import (
	"container/list"
	"maps"

	"sluice/proxy/heap"
)

// line is the claims of one resource that wait. A heap has the callers with claims of one kind, of system callers apart, in their
// order. It stays while the resource uses the budget, so that callers have their turns.
type line struct {
	kinds   [parts][kinds]heap.Heap[*flow]
	waiting int    // claims
	turn    uint64 // the latest that was granted
	callers map[string]*caller
}

// kind is what claims wait for.
type kind uint8

const (
	short kind = iota
	long
	recovering // for their stores, and for no room
	kinds
)

// caller is a caller whose claims wait, or one of whose claims was granted.
type caller struct {
	flows [parts][kinds]flow
	next  uint64 // the turn after that of its last grant
}

// flow is the claims of one kind of a caller that wait. Only the first has a turn: those behind it come forward when it gives up.
type flow struct {
	caller *caller
	claims list.List // of *claim, in the order in which they arrived
	turn   uint64
	place  int // in its heap of line
}

// first returns the claim that has the turn.
func (w *flow) first() *claim { return w.claims.Front().Value.(*claim) }

// before reports whether the first claim of w has its turn before that of v.
func (w *flow) before(v *flow) bool {
	return w.turn < v.turn || w.turn == v.turn && w.first().arrived < v.first().arrived
}

// mostCallers bounds the callers without waiting claims whose last turn a line knows.
const mostCallers = 1 << 12

func newLine() *line {
	l := &line{callers: map[string]*caller{}}
	for p := range l.kinds {
		for k := range l.kinds[p] {
			l.kinds[p][k] = heap.New((*flow).before, func(f *flow) *int { return &f.place })
		}
	}
	return l
}

// update puts a caller into the heap of what it waits for, or takes it out.
func (l *line) update(p part, k kind, w *flow) { l.kinds[p][k].Update(w, w.claims.Len() > 0) }

// add makes a claim wait, behind the others of its kind that are older. It has the turn if it is the first.
func (l *line) add(c *claim, turn uint64) {
	k := c.kind()
	c.flow = &l.callers[c.caller].flows[c.last()][k]
	switch {
	case c.flow.claims.Len() == 0:
		c.flow.turn = turn
		c.place = c.flow.claims.PushBack(c)
	case c.arrived < c.flow.first().arrived:
		c.flow.turn = min(c.flow.turn, turn)
		c.place = c.flow.claims.PushFront(c)
	default:
		c.place = c.flow.claims.PushBack(c)
	}
	l.update(c.last(), k, c.flow)
}

// remove ends the wait of a claim.
func (l *line) remove(c *claim) {
	c.flow.claims.Remove(c.place)
	l.update(c.last(), c.kind(), c.flow)
}

// recover says whether a claim that waits does so for its store.
func (l *line) recover(c *claim, recovers bool) {
	turn := max(l.now(), c.flow.caller.next)
	if c.flow.first() == c {
		turn = c.flow.turn
	}
	l.remove(c)
	c.recovers = recovers
	l.add(c, turn)
}

// enter puts a claim into the line: after the others of its caller, and before all but the next one of any other.
func (l *line) enter(c *claim) {
	of := l.callers[c.caller]
	if of == nil {
		of = new(caller)
		for p := range of.flows {
			for k := range of.flows[p] {
				of.flows[p][k].caller = of
			}
		}
		l.callers[c.caller] = of
	}
	l.waiting++
	l.add(c, max(l.now(), of.next))
}

// leave takes a claim out of the line.
func (l *line) leave(c *claim) {
	l.remove(c)
	l.waiting--
}

// granted takes a claim out of the line whose turn has come, after which its caller waits for its next one.
func (l *line) granted(c *claim) {
	of := c.flow.caller
	l.turn = max(l.turn, c.flow.turn)
	of.next = c.flow.turn + 1
	l.leave(c)
	for p := range of.flows {
		for k := range of.flows[p] {
			w := &of.flows[p][k]
			w.turn = max(w.turn, of.next)
			l.update(part(p), kind(k), w)
		}
	}
}

// now returns the current turn: that of the latest grant, or of an older claim that still waits because others were granted out
// of order.
func (l *line) now() uint64 {
	now := l.turn
	for p := range l.kinds {
		for k := range l.kinds[p] {
			if first := l.first(part(p), kind(k)); first != nil {
				now = min(now, first.turn)
			}
		}
	}
	return now
}

// first returns the flow of a kind that has the first turn; nil if there is none.
func (l *line) first(p part, k kind) *flow {
	if all := l.kinds[p][k].All; len(all) > 0 {
		return all[0]
	}
	return nil
}

// forget drops callers whose claims do not wait, once there are too many.
func (l *line) forget() {
	if len(l.callers) > mostCallers+2*l.waiting {
		maps.DeleteFunc(l.callers, func(_ string, c *caller) bool { return !c.waiting() })
	}
}

// waiting reports whether a claim of the caller waits.
func (c *caller) waiting() bool {
	for p := range c.flows {
		for k := range c.flows[p] {
			if c.flows[p][k].claims.Len() > 0 {
				return true
			}
		}
	}
	return false
}

// next returns the claim whose turn it is and the part that it may get room of, of those that are not full; nil if there is none.
func (l *line) next(full *[parts]bool) (first *claim, of part) {
	for last := range parts {
		for _, k := range []kind{short, long} {
			w := l.first(last, k)
			if w == nil || first != nil && !w.before(first.flow) {
				continue
			}
			for p := common; p <= last; p++ {
				if !full[p] && !(k == long && l.recoversBefore(w, p)) {
					first, of = w.first(), p
					break
				}
			}
		}
	}
	return first, of
}

// recoversBefore reports whether a claim that may be charged to a part waits for its store, and has its turn before w.
func (l *line) recoversBefore(w *flow, p part) bool {
	for ; p < parts; p++ {
		if r := l.first(p, recovering); r != nil && r.before(w) {
			return true
		}
	}
	return false
}
