package cache

import (
	"iter"
	"math/bits"
)

// state is the content of a resource between two events. It is immutable and shares with the states
// before and after it everything that no event has changed.
type state struct {
	root  *node
	index *node // ordered by the value of one field; nil without an index or objects
	// replaced is the sum of Event.size over all events of the store up to this state: what earlier
	// states have and later ones lack.
	replaced int64
}

// Snapshot is the immutable state of a resource at one version. Readers may keep it as long as they
// like; snapshots share the parts that they have in common.
type Snapshot struct {
	// Version is the resource version under which the state is shown: that of the newest event, of a
	// later bookmark or proof, or the one that [Store.At] was called with. Reaches says whether the state
	// is complete at this version.
	Version uint64

	state
	partial bool // the newest event is a deletion, and others of its version may follow
}

// Reaches reports whether the state has the effect of every event up to version. When a lease expires
// in etcd, all of its keys are deleted at one version: after the first of them, the state is at this
// version and does not reach it.
func (s *Snapshot) Reaches(version uint64) bool {
	return s.Version > version || s.Version == version && !s.partial
}

// CompleteVersion returns the highest version that the state reaches.
func (s *Snapshot) CompleteVersion() uint64 {
	if s.partial {
		return s.Version - 1
	}
	return s.Version
}

// Len returns the number of objects.
func (s state) Len() int {
	if s.root == nil {
		return 0
	}
	return s.root.count
}

// Bytes returns the sum of the lengths of Object.Data.
func (s state) Bytes() int64 {
	if s.root == nil {
		return 0
	}
	return s.root.bytes
}

// memory returns about how many bytes the objects take.
func (s state) memory() int64 { return s.Bytes() + int64(s.Len())*objectMemory }

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

// CountByIndex returns the number of keys in r whose indexed field has the given value, in O(log n). The
// store must have an index.
func (s *Snapshot) CountByIndex(value string, r Range) int {
	if s.index == nil {
		return 0
	}
	entries := indexRange(value, r)
	return max(s.index.rank(entries.To)-s.index.rank(entries.From), 0)
}

// RunsByIndex yields the objects of r whose indexed field has the given value, in key order, in runs of
// segments of the index. The store must have an index.
func (s *Snapshot) RunsByIndex(value string, r Range) iter.Seq[Run] {
	return func(yield func(Run) bool) { s.index.runs(indexRange(value, r), yield) }
}

// ByIndex yields the same objects.
func (s *Snapshot) ByIndex(value string, r Range) iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		for run := range s.RunsByIndex(value, r) {
			for set := run.Set; set != 0; set &= set - 1 {
				if !yield(run.Segment.objects[bits.TrailingZeros64(set)].of) {
					return
				}
			}
		}
	}
}
