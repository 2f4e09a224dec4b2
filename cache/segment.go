package cache

import (
	"sort"
	"sync"
	"sync/atomic"
)

const (
	// segmentMax is the most objects a segment holds: enough to make encoding
	// by segment worth while, few enough that an update copies little.
	segmentMax = 64
	// segmentMin is the fewest, except in a tree with a single segment.
	segmentMin = 16
)

// Segment is an immutable run of neighbouring objects, in key order.
type Segment struct {
	objects []*Object
	bytes   int64 // sum of len(Data)

	memos    atomic.Pointer[memoCell]
	building sync.Mutex  // serializes the making of memos, so that each is made once
	retired  atomic.Bool // no longer part of the newest state
}

func newSegment(objects []*Object) *Segment {
	s := &Segment{objects: objects}
	for _, o := range objects {
		s.bytes += int64(len(o.Data))
	}
	return s
}

// Bytes returns the sum of the lengths of the objects' data.
func (s *Segment) Bytes() int64 { return s.bytes }

// search returns the index of k, or where it would be inserted.
func (s *Segment) search(k Key) (int, bool) {
	i := sort.Search(len(s.objects), func(i int) bool { return s.objects[i].Key >= k })
	return i, i < len(s.objects) && s.objects[i].Key == k
}

// with returns the objects with o put at i, in place of the one there if
// replace is set.
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

// without returns the objects except the one at i.
func (s *Segment) without(i int) []*Object {
	out := make([]*Object, 0, len(s.objects))
	out = append(out, s.objects[:i]...)
	return append(out, s.objects[i+1:]...)
}

// Run is a part of a segment: the objects [From, To).
type Run struct {
	Segment  *Segment
	From, To int
}

// Whole reports whether the run is all of its segment.
func (r Run) Whole() bool { return r.From == 0 && r.To == len(r.Segment.objects) }

// Objects returns the run's objects, which must not be changed.
func (r Run) Objects() []*Object { return r.Segment.objects[r.From:r.To] }
