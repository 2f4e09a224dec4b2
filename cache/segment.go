package cache

import (
	"sort"
	"sync"
	"sync/atomic"
)

const (
	// segmentMax is the greatest number of objects of a segment: large enough for one encoding
	// per segment to pay off, small enough for an update to copy little.
	segmentMax = 64
	// segmentMin is the least number of objects, except in a tree of a single segment.
	segmentMin = 16
)

// Segment is an immutable run of neighbouring objects in key order, a leaf of the tree.
type Segment struct {
	objects []*Object
	bytes   int64 // sum of len(Data)

	memos    atomic.Pointer[memoCell] // linked list
	building sync.Mutex               // serializes the building of memos, so that each is built once
	retired  atomic.Bool              // the newest state does not have this segment
}

func newSegment(objects []*Object) *Segment {
	s := &Segment{objects: objects}
	for _, o := range objects {
		s.bytes += int64(len(o.Data))
	}
	return s
}

// Bytes returns the sum of the lengths of Object.Data.
func (s *Segment) Bytes() int64 { return s.bytes }

// search returns the index of k, or the index at which it would be inserted.
func (s *Segment) search(k Key) (int, bool) {
	i := sort.Search(len(s.objects), func(i int) bool { return s.objects[i].Key >= k })
	return i, i < len(s.objects) && s.objects[i].Key == k
}

// with returns a copy of the objects with o inserted at index i, or replacing the object there.
func (s *Segment) with(i int, o *Object, replace bool) []*Object {
	rest := i
	if replace {
		rest++
	}
	out := make([]*Object, 0, len(s.objects)+1)
	out = append(out, s.objects[:i]...)
	out = append(out, o)
	return append(out, s.objects[rest:]...)
}

// without returns a copy of the objects without the one at index i.
func (s *Segment) without(i int) []*Object {
	out := make([]*Object, 0, len(s.objects))
	out = append(out, s.objects[:i]...)
	return append(out, s.objects[i+1:]...)
}

// Run is the part [From, To) of the objects of a segment.
type Run struct {
	Segment  *Segment
	From, To int
}

// Whole reports whether the run is the whole segment, so that it can use the segment's memos.
func (r Run) Whole() bool { return r.From == 0 && r.To == len(r.Segment.objects) }

// Objects returns the objects of the run, which must not be changed.
func (r Run) Objects() []*Object { return r.Segment.objects[r.From:r.To] }
