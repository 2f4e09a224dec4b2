package cache

import (
	"hash/maphash"

	"sluice/cache/tree"
)

// Scope is the part of a resource that a watch reads, so that other events do not wake it. The zero
// Scope is the whole resource. At most one of Namespace, Key and Indexed is set.
type Scope struct {
	Namespace string   // only objects in this namespace
	Key       tree.Key // only this object
	Indexed   bool     // only objects whose indexed field has Value, before or after the event
	Value     string
}

// concerns reports whether an event is in scope; field is the position of the indexed field.
func (s Scope) concerns(e *Event, field int) bool {
	switch k := e.Object.Key; {
	case s.Key != "":
		return k == s.Key
	case s.Indexed:
		return e.Object.Field(field) == s.Value || e.Previous != nil && e.Previous.Field(field) == s.Value
	default:
		return s.Namespace == "" || tree.Namespace(s.Namespace).Contains(k)
	}
}

// Range returns the smallest range of keys that holds every object in scope.
func (s Scope) Range() tree.Range {
	if s.Key != "" {
		return tree.Single(s.Key)
	}
	return tree.Namespace(s.Namespace)
}

// maxScopes is the largest number of scopes that one event concerns, besides the whole resource:
// its key, its namespace, and the values of the indexed field after and before it.
const maxScopes = 4

// mark stands for a scope where there is no memory for its strings. Equal scopes have equal marks, and others seldom have. No scope
// has the mark 0.
type mark uint32

var markSeed = maphash.MakeSeed()

func (s Scope) mark() mark { return mark(maphash.Comparable(markSeed, s)) | 1 }

// marks are those of all scopes that an event concerns, the whole resource first. The rest are 0.
type marks [1 + maxScopes]mark

func (m *marks) have(one mark) bool {
	for _, other := range m {
		if other == one {
			return true
		}
	}
	return false
}
