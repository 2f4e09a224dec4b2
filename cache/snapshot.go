package cache

import "sluice/cache/tree"

// state is the content of a resource between two events. It is immutable and shares with the states
// before and after it everything that no event has changed.
type state struct {
	tree.Tree
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
