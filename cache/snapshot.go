package cache

import "iter"

// state is the content of a resource between two events. It is immutable and shares with the states
// before and after it everything that no event has changed.
type state struct {
	root  *node
	index *node // ordered by the value of one field; nil without an index or objects
}

// Snapshot is the immutable state of a resource at one version. Readers may keep it as long as they
// like; snapshots share the parts that they have in common.
type Snapshot struct {
	// Version is the resource version up to which the state is complete: the version of the newest
	// event, of a later bookmark or proof, or the version that [Store.At] was called with.
	Version uint64

	state
}

// Len returns the number of objects.
func (s *Snapshot) Len() int {
	if s.root == nil {
		return 0
	}
	return s.root.count
}

// Bytes returns the sum of the lengths of Object.Data.
func (s *Snapshot) Bytes() int64 {
	if s.root == nil {
		return 0
	}
	return s.root.bytes
}

// Get returns the object with the given key, or nil.
func (s *Snapshot) Get(k Key) *Object { return s.root.get(k) }

// Count returns the number of keys in r, in O(log n).
func (s *Snapshot) Count(r Range) int {
	upper := s.Len()
	if r.To != "" {
		upper = s.root.rank(r.To)
	}
	return max(upper-s.root.rank(r.From), 0)
}

// Runs yields the objects of r in key order, one run for each segment.
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

// ByIndex yields the objects of r whose indexed field has the given value, in key order. The store
// must have an index.
func (s *Snapshot) ByIndex(value string, r Range) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		s.index.runs(indexRange(value, r), func(run Run) bool {
			for _, entry := range run.Objects() {
				if !yield(entry.of) {
					return false
				}
			}
			return true
		})
	}
}
