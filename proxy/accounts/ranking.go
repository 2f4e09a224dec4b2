package accounts

import (
	"cmp"
	"slices"

	"sluice/proxy/heap"
)

// amount is what an account or group holds.
type amount struct {
	used  int64
	fixed int64  // the part of used that cannot be taken back
	place int    // in a ranking
	since uint64 // when it came into the ranking
}

func (a *amount) amounts() *amount { return a }

func (a *amount) add(n int64, fixed bool) {
	a.used += n
	if fixed {
		a.fixed += n
	}
}

// ranking has the elements that hold something that can be taken back, the heaviest first, of equal ones the one that has been
// there for longest. There may be a hundred thousand callers, and while a total is scarce each request asks for the heaviest.
type ranking[T interface{ amounts() *amount }] struct {
	heap.Heap[T]
	came uint64 // how many elements have come
}

func newRanking[T interface{ amounts() *amount }]() ranking[T] {
	return ranking[T]{Heap: heap.New(func(a, b T) bool { return a.amounts().compare(b.amounts()) < 0 },
		func(x T) *int { return &x.amounts().place })}
}

// compare is negative if a is taken back from before b.
func (a *amount) compare(b *amount) int {
	return cmp.Or(cmp.Compare(b.used, a.used), cmp.Compare(a.since, b.since))
}

// update puts x in its place, after what it holds has changed.
func (r *ranking[T]) update(x T) {
	a := x.amounts()
	if a.place == 0 {
		r.came++
		a.since = r.came
	}
	r.Update(x, a.used > a.fixed)
}

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
		most := slices.MinFunc(next, func(i, j int) int { return r.All[i].amounts().compare(r.All[j].amounts()) })
		if g := grantOf(r.All[most]); g != nil {
			return g
		}
		next = append(slices.DeleteFunc(next, func(i int) bool { return i == most }), 2*most+1, 2*most+2)
	}
	return nil
}
