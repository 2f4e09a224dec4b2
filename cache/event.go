package cache

import (
	"time"

	"sluice/cache/tree"
)

// Type is the type of an event that changes the state.
type Type uint8

// The types of events, as in the API.
const (
	Added Type = iota + 1
	Modified
	Deleted
)

// String returns the type as the API spells it.
func (t Type) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	}
	return "UNKNOWN"
}

// Event is one change in the history of a resource. Its exported fields must not be changed.
type Event struct {
	Type Type
	RV   uint64 // metadata.resourceVersion of Object
	// Object is the new object, or for Deleted the last one with the resource version of the
	// deletion.
	Object *tree.Object
	// Previous is the object before the event, nil for Added.
	Previous *tree.Object
	// At is when the event was received.
	At time.Time

	position uint64     // in the history, from 1, without gaps
	shares   bool       // an event before it has the same version
	after    state      // after the event
	frames   tree.Memos // by frameKey
}

// eventOverhead is the memory of an event besides its objects, in bytes: the struct, and the copies of
// a segment and of the path to it that the state before does not share with the state after.
const eventOverhead = 2048

// size returns about how many bytes of memory the history keeps alive because of the event. The new
// object counts for the snapshot as long as it is the current one.
func (e *Event) size() int64 {
	n := e.Previous.Size() + eventOverhead
	if e.Type == Deleted {
		n += e.Object.Size()
	}
	return n
}

// isAfter reports whether a reader of a state at version may lack the event. The state may have been
// shown between the events of its version, always after the first.
func (e *Event) isAfter(version uint64) bool {
	return e.RV > version || e.RV == version && e.shares
}

// TypeFor returns the type of the event in a watch with a selector: an object that begins to match
// was added, an object that no longer matches was deleted. It returns false if the object matches
// neither before nor after the event. A nil filter selects every object.
func (e *Event) TypeFor(f tree.Filter) (Type, bool) {
	if f == nil {
		return e.Type, true
	}
	before := e.Previous != nil && f.Match(e.Previous)
	after := e.Type != Deleted && f.Match(e.Object)
	switch {
	case before && after:
		return Modified, true
	case after:
		return Added, true
	case before:
		return Deleted, true
	}
	return 0, false
}
