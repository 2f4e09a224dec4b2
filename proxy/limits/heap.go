package limits

import (
	"container/heap"
	"slices"
)

// ranked is an element of a ranking.
type ranked[T any] interface {
	before(other T) bool
	// position is where the element keeps its place, from 1; 0 means that it is in no ranking.
	position() *int
}

// ranking is a binary heap whose elements know their places, so that an element can be moved or removed after it has changed.
type ranking[T ranked[T]] []T

// update puts x in its place after it has changed, and removes it if it is no longer to be in the ranking.
func (h *ranking[T]) update(x T, in bool) {
	switch place := *x.position(); {
	case in && place == 0:
		heap.Push(h, x)
	case in:
		heap.Fix(h, place-1)
	case place > 0:
		heap.Remove(h, place-1)
	}
}

// first returns the element that is before all others, or nil.
func (h ranking[T]) first() (first T) {
	if len(h) > 0 {
		first = h[0]
	}
	return first
}

// Len implements heap.Interface.
func (h ranking[T]) Len() int { return len(h) }

// Less implements heap.Interface.
func (h ranking[T]) Less(i, j int) bool { return h[i].before(h[j]) }

// Swap implements heap.Interface.
func (h ranking[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	*h[i].position(), *h[j].position() = i+1, j+1
}

// Push implements heap.Interface.
func (h *ranking[T]) Push(x any) {
	*h = append(*h, x.(T))
	*x.(T).position() = len(*h)
}

// Pop implements heap.Interface.
func (h *ranking[T]) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*x.position() = 0
	*h = slices.Delete(*h, last, last+1)
	return x
}
