package cache

import "sluice/cache/tree"

// Change is an event that is known by its version and key only.
type Change struct {
	RV  uint64
	Key tree.Key
}

// prehistory is what is known of the events before the history: enough to tell whether a reader at an
// older version has missed any.
type prehistory struct {
	from, until uint64   // all events after from, up to until, are in changes
	changes     []Change // in ascending order of versions
}

// quietSince reports whether the scope is known to have had no event after version before the history, which
// begins after oldest.
func (p *prehistory) quietSince(scope Scope, version, oldest uint64) bool {
	if p.until != oldest || version < p.from || p.from == 0 {
		return false
	}
	for i := len(p.changes) - 1; i >= 0 && p.changes[i].RV > version; i-- {
		// What an object was before the event, and so whether it had the indexed value, is not known: the range of
		// an indexed scope holds every key.
		if scope.Range().Contains(p.changes[i].Key) {
			return false
		}
	}
	return true
}
