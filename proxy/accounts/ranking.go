package accounts

import (
	"cmp"
	"container/heap"
	"slices"
)

// amount is what an account or group holds.
type amount struct {
	used  int64
	fixed int64 // the part of used that cannot be taken back
	place int   // in a ranking, from 1; 0 if it is not there
}

func (a *amount) amounts() *amount { return a }

func (a *amount) add(n int64, fixed bool) {
	a.used += n
	if fixed {
		a.fixed += n
	}
}

// ranking has what holds something that can be taken back, as a heap: the heaviest first. There may be a
// hundred thousand callers, and while a total is scarce each request asks for the heaviest.
type ranking[T interface{ amounts() *amount }] []T

// Len implements heap.Interface.
func (r ranking[T]) Len() int { return len(r) }

// Less implements heap.Interface.
func (r ranking[T]) Less(i, j int) bool { return r.used(i) > r.used(j) }

func (r ranking[T]) used(i int) int64 { return r[i].amounts().used }

// Swap implements heap.Interface.
func (r ranking[T]) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].amounts().place, r[j].amounts().place = i+1, j+1
}

// Push implements heap.Interface.
func (r *ranking[T]) Push(x any) {
	*r = append(*r, x.(T))
	x.(T).amounts().place = len(*r)
}

// Pop implements heap.Interface.
func (r *ranking[T]) Pop() any {
	last := len(*r) - 1
	x := (*r)[last]
	x.amounts().place = 0
	*r = slices.Delete(*r, last, last+1)
	return x
}

// update puts x in its place, after what it holds has changed.
func (r *ranking[T]) update(x T) {
	a := x.amounts()
	revocable := a.used > a.fixed
	switch {
	case revocable && a.place == 0:
		heap.Push(r, x)
	case revocable:
		heap.Fix(r, a.place-1)
	case a.place > 0:
		heap.Remove(r, a.place-1)
	}
}

// maxPassedOver bounds how many are passed over because all that they hold is busy.
const maxPassedOver = 256

// heaviest returns the grant that grantOf finds in the heaviest element above least in which it finds one.
func (r ranking[T]) heaviest(least int64, grantOf func(T) *Grant) *Grant {
	next := []int{0} // in no order; an element is no heavier than its parent
	for range maxPassedOver {
		next = slices.DeleteFunc(next, func(i int) bool { return i >= len(r) || r.used(i) <= least })
		if len(next) == 0 {
			return nil
		}
		most := slices.MaxFunc(next, func(i, j int) int { return cmp.Compare(r.used(i), r.used(j)) })
		if g := grantOf(r[most]); g != nil {
			return g
		}
		next = append(slices.DeleteFunc(next, func(i int) bool { return i == most }), 2*most+1, 2*most+2)
	}
	return nil
}
