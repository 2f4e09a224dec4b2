package accounts

import (
	"cmp"
	"slices"

	"sluice/proxy/heap"
)

// amount is what an account or group holds.
type amount struct {
	used  int64
	fixed int64 // the part of used that cannot be taken back
	place int   // in a ranking
}

func (a *amount) amounts() *amount { return a }

func (a *amount) add(n int64, fixed bool) {
	a.used += n
	if fixed {
		a.fixed += n
	}
}

// ranking has the elements that hold something that can be taken back, the heaviest first. There may be a
// hundred thousand callers, and while a total is scarce each request asks for the heaviest.
type ranking[T interface{ amounts() *amount }] struct{ heap.Heap[T] }

func newRanking[T interface{ amounts() *amount }]() ranking[T] {
	return ranking[T]{heap.New(func(a, b T) bool { return a.amounts().used > b.amounts().used },
		func(x T) *int { return &x.amounts().place })}
}

// update puts x in its place, after what it holds has changed.
func (r *ranking[T]) update(x T) { r.Update(x, x.amounts().used > x.amounts().fixed) }

func (r *ranking[T]) used(i int) int64 { return r.All[i].amounts().used }

// maxPassedOver bounds how many are passed over because all that they hold is busy.
const maxPassedOver = 256

// heaviest returns the grant that grantOf finds in the heaviest element above least in which it finds one.
func (r *ranking[T]) heaviest(least int64, grantOf func(T) *Grant) *Grant {
	next := []int{0} // in no order; an element is no heavier than its parent
	for range maxPassedOver {
		next = slices.DeleteFunc(next, func(i int) bool { return i >= len(r.All) || r.used(i) <= least })
		if len(next) == 0 {
			return nil
		}
		most := slices.MaxFunc(next, func(i, j int) int { return cmp.Compare(r.used(i), r.used(j)) })
		if g := grantOf(r.All[most]); g != nil {
			return g
		}
		next = append(slices.DeleteFunc(next, func(i int) bool { return i == most }), 2*most+1, 2*most+2)
	}
	return nil
}
