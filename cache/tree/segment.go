package tree

import (
	"slices"
	"sort"
	"sync/atomic"
)

const (
	// segmentMax is the greatest number of objects of a segment: large enough for one encoding
	// per segment to pay off, small enough for an update to copy little.
	segmentMax = 64
	// segmentMin is the number of objects below which a segment is merged with a neighbor, if
	// both fit into one.
	segmentMin = 16
	// SegmentBytes is the greatest sum of the data of a segment of more than one object, in bytes:
	// the bytes that an update encodes anew, and that readers of a segment hold, must not grow
	// with the objects.
	SegmentBytes = 512 << 10
	// segmentMinBytes is the sum from which a segment of few objects is not merged.
	segmentMinBytes = SegmentBytes / 4
)

// Segment is an immutable run of neighboring objects in key order, a leaf of the tree. A segment of an
// index has entries, which stand for objects.
type Segment struct {
	objects []*Object
	bytes   int64 // sum of len(Data)

	memos    Memos
	selected atomic.Bool   // a selection has read it
	parts    atomic.Uint64 // the set of the objects that were in parts for which Run.Reread was called
}

func newSegment(objects []*Object) *Segment {
	return &Segment{objects: objects, bytes: dataBytes(objects)}
}

// dataBytes returns the sum of the lengths of Object.Data. It is computed with each event, so the
// entries of an index have Data of their own: to look it up in their objects would miss the CPU's
// caches.
func dataBytes(objects []*Object) (n int64) {
	for _, o := range objects {
		n += int64(len(o.Data))
	}
	return n
}

// Bytes returns the sum of the lengths of Object.Data.
func (s *Segment) Bytes() int64 { return s.bytes }

// search returns the index of k, or the index at which it would be inserted.
func (s *Segment) search(k Key) (int, bool) {
	i := sort.Search(len(s.objects), func(i int) bool { return s.objects[i].Key >= k })
	return i, i < len(s.objects) && s.objects[i].Key == k
}

// with returns a copy of the objects with o added, or replacing the object of the same key.
func (s *Segment) with(o *Object) []*Object {
	i, found := s.search(o.Key)
	if found {
		out := slices.Clone(s.objects)
		out[i] = o
		return out
	}
	return slices.Concat(s.objects[:i], []*Object{o}, s.objects[i:])
}

// without returns a copy of the objects without the one of a key, which must be there.
func (s *Segment) without(k Key) []*Object {
	i, _ := s.search(k)
	return slices.Concat(s.objects[:i], s.objects[i+1:])
}

// Memo returns the value that build makes of the segment's objects. Callers with equal keys share
// the value as long as the budget keeps it, and concurrent callers wait for one build. The size
// that build returns is the approximate memory of the value in bytes. The value must not be
// changed.
func (s *Segment) Memo(b *Budget, key any, build func(objects []*Object) (value any, size int64, err error)) (any, error) {
	if v, ok := s.Recall(key); ok {
		return v, nil
	}
	return s.memos.Make(b, key, func() (any, int64, error) { return build(s.objects) })
}

// Recall returns the value that Memo keeps for the key, if it still does.
func (s *Segment) Recall(key any) (value any, ok bool) { return s.memos.Recall(key) }
