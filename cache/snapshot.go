package cache

import "iter"

// Snapshot is the state of a resource at one version. It never changes and may
// be kept as long as it is needed; snapshots share what they have in common.
type Snapshot struct {
	// Version is the resource version up to which the state is complete:
	// the version of the last event or of a later bookmark.
	Version uint64

	root *node
}

// Len returns the number of objects.
func (s *Snapshot) Len() int {
	if s.root == nil {
		return 0
	}
	return s.root.count
}

// Bytes returns the sum of the objects' data lengths.
func (s *Snapshot) Bytes() int64 {
	if s.root == nil {
		return 0
	}
	return s.root.bytes
}

// Get returns the object with that key, or nil.
func (s *Snapshot) Get(k Key) *Object { return s.root.get(k) }

// Count returns how many keys lie in r, in O(log n).
func (s *Snapshot) Count(r Range) int {
	upper := s.Len()
	if r.To != "" {
		upper = s.root.rank(r.To)
	}
	return max(upper-s.root.rank(r.From), 0)
}

// Runs yields the objects of r by segment, in key order.
func (s *Snapshot) Runs(r Range) iter.Seq[Run] {
	return func(yield func(Run) bool) { s.root.runs(r, yield) }
}

// Objects yields the objects of r in key order.
func (s *Snapshot) Objects(r Range) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for run := range s.Runs(r) {
			for _, o := range run.Objects() {
				if !yield(o) {
					return
				}
			}
		}
	}
}
