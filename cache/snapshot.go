package cache

import "sluice/cache/tree"

// state is the content of a resource between two events. It is immutable and shares with the states
// before and after it everything that no event has changed.
type state struct {
	tree.Tree
	// replaced is the sum of Event.size over all events of the store up to this state: the objects that earlier
	// states have and later ones lack.
	replaced int64
}

// Snapshot is the immutable state of a resource at one version. Readers may keep it as long as they
// like; snapshots share the parts that they have in common.
type Snapshot struct {
	// Version is the resource version up to which the state is complete: that of the newest event, of a
	// later bookmark or proof, or the one that [Store.At] was called with.
	Version uint64

	state
}

// Reaches reports whether the state has the effect of every event up to version.
func (s *Snapshot) Reaches(version uint64) bool { return s.Version >= version }
