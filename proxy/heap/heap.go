// Package heap has a heap whose elements know their places, so that an element can be moved or removed after it has changed.
package heap

import (
	"container/heap"
	"slices"
)

// Heap is a binary heap. Its order is that of container/heap: the children of the element i are at 2i+1 and 2i+2.
type Heap[T any] struct {
	All    []T
	before func(a, b T) bool
	place  func(T) *int
}

// New returns an empty Heap. place returns where an element keeps its place, from 1; 0 means that it is in no heap.
func New[T any](before func(a, b T) bool, place func(T) *int) Heap[T] {
	return Heap[T]{before: before, place: place}
}

// Update puts x in its place after it has changed, and removes it if it is no longer to be in the heap.
func (h *Heap[T]) Update(x T, in bool) {
	switch place := *h.place(x); {
	case in && place == 0:
		heap.Push((*order[T])(h), x)
	case in:
		heap.Fix((*order[T])(h), place-1)
	case place > 0:
		heap.Remove((*order[T])(h), place-1)
	}
}

// order implements heap.Interface for a Heap.
type order[T any] Heap[T]

// Len implements heap.Interface.
func (o *order[T]) Len() int { return len(o.All) }

// Less implements heap.Interface.
func (o *order[T]) Less(i, j int) bool { return o.before(o.All[i], o.All[j]) }

// Swap implements heap.Interface.
func (o *order[T]) Swap(i, j int) {
	o.All[i], o.All[j] = o.All[j], o.All[i]
	*o.place(o.All[i]), *o.place(o.All[j]) = i+1, j+1
}

// Push implements heap.Interface.
func (o *order[T]) Push(x any) {
	o.All = append(o.All, x.(T))
	*o.place(x.(T)) = len(o.All)
}

// Pop implements heap.Interface.
func (o *order[T]) Pop() any {
	last := len(o.All) - 1
	x := o.All[last]
	*o.place(x) = 0
	o.All = slices.Delete(o.All, last, last+1)
	return x
}
