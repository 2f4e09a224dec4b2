package tree

import "math/bits"

// Run is objects of a segment: those at the positions of the bits that are set, of an index those that
// the entries there stand for. At least one is.
type Run struct {
	Segment *Segment
	Set     uint64
}

const _ = uint(64 - segmentMax) // a set has a bit for every object of a segment

// firstBits returns the set of the first n positions.
func firstBits(n int) uint64 { return uint64(1)<<n - 1 } // all, if n is 64

// Whole reports whether the run is a whole segment, one that is not of an index.
func (r Run) Whole() bool { return r.full() && !r.indexed() }

func (r Run) full() bool { return r.Set == firstBits(len(r.Segment.objects)) }

// indexed reports whether the segment is of an index.
func (r Run) indexed() bool { return r.Segment.objects[0].of != nil }

// Len returns the number of objects.
func (r Run) Len() int { return bits.OnesCount64(r.Set) }

// Bytes returns the sum of the lengths of Object.Data.
func (r Run) Bytes() int64 {
	if r.full() {
		return r.Segment.bytes
	}
	var n int64
	for set := r.Set; set != 0; set &= set - 1 {
		n += int64(len(r.Segment.objects[bits.TrailingZeros64(set)].Data))
	}
	return n
}

// Last returns the last object.
func (r Run) Last() *Object { return r.Segment.objects[bits.Len64(r.Set)-1].target() }

// First returns the run of the first n objects, or of all if there are not as many.
func (r Run) First(n int) Run {
	rest := r.Set
	for range min(n, r.Len()) {
		rest &= rest - 1
	}
	return Run{r.Segment, r.Set &^ rest}
}

// Filter selects objects, as label and field selectors do.
type Filter interface{ Match(o *Object) bool }

// Matching returns the run of the objects that match a filter; its set may be empty.
func (r Run) Matching(f Filter) Run {
	out := Run{Segment: r.Segment}
	for set := r.Set; set != 0; set &= set - 1 {
		if i := bits.TrailingZeros64(set); f.Match(r.Segment.objects[i].target()) {
			out.Set |= 1 << i
		}
	}
	return out
}

// Objects returns the objects of the run in key order, which must not be changed.
func (r Run) Objects() []*Object {
	if r.Set == 0 {
		return nil
	}
	first, n := bits.TrailingZeros64(r.Set), r.Len()
	if r.Set>>first == firstBits(n) && !r.indexed() {
		return r.Segment.objects[first : first+n]
	}
	objects := make([]*Object, 0, n)
	for set := r.Set; set != 0; set &= set - 1 {
		objects = append(objects, r.Segment.objects[bits.TrailingZeros64(set)].target())
	}
	return objects
}

// Reread reports whether it has been called before for runs that had all of these objects: whether a
// selection that is read again is likely to profit from a memo. One that is read once would fill the budget.
func (r Run) Reread() bool {
	for {
		before := r.Segment.parts.Load()
		if before&r.Set == r.Set {
			return true
		}
		if r.Segment.parts.CompareAndSwap(before, before|r.Set) {
			return false
		}
	}
}

// partMemory is about how many bytes the memo of a part takes besides its value.
const partMemory = 400

func (r Run) memoKey(key any) any {
	if r.Whole() {
		return key
	}
	return partKey{r.Set, key}
}

// Memo returns the value that build makes of the objects of the run; see [Segment.Memo]. A value belongs to
// exactly these objects, so that it tells the reader of a part of a segment nothing about the rest. In a
// segment with many memos of parts, it takes the place of one that is not used.
func (r Run) Memo(b *Budget, key any, build func(objects []*Object) (value any, size int64, err error)) (any, error) {
	if r.Whole() {
		return r.Segment.Memo(b, key, build)
	}
	key = r.memoKey(key)
	if !r.Segment.memos.Has(key) && !r.Segment.memos.makeRoom() {
		value, _, err := build(r.Objects())
		return value, err
	}
	return r.Segment.Memo(b, key, func([]*Object) (any, int64, error) {
		value, size, err := build(r.Objects())
		return value, size + partMemory, err
	})
}

// Recall returns the value that Memo keeps for the key, if it still does.
func (r Run) Recall(key any) (value any, ok bool) { return r.Segment.Recall(r.memoKey(key)) }
