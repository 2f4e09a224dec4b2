package cache

import "sync/atomic"

// Scope says which events concern a watch, so that others do not wake it: the
// zero Scope is the whole resource.
type Scope struct {
	Namespace string // only this namespace
	Key       Key    // only this object
	// Indexed narrows to objects whose indexed field has Value, now or
	// before. It is not combined with the others.
	Indexed bool
	Value   string
}

// concerns reports whether an event is in scope; field is the indexed one.
func (s Scope) concerns(e *Event, field int) bool {
	switch k := e.Object.Key; {
	case s.Key != "":
		return k == s.Key
	case s.Indexed:
		return e.Object.indexed(field) == s.Value || e.Previous != nil && e.Previous.indexed(field) == s.Value
	default:
		return s.Namespace == "" || Namespace(s.Namespace).Contains(k)
	}
}

// Range returns the range of keys in scope, as far as keys tell.
func (s Scope) Range() Range {
	if s.Key != "" {
		return Single(s.Key)
	}
	return Namespace(s.Namespace)
}

// scopesOf returns the narrower scopes that an event concerns, without
// repetitions.
func (s *Store) scopesOf(e *Event) []Scope {
	scopes := s.scratch[:0]
	k := e.Object.Key
	scopes = append(scopes, Scope{Key: k})
	if ns := k.Namespace(); ns != "" {
		scopes = append(scopes, Scope{Namespace: ns})
	}
	if s.options.Index != nil {
		field := *s.options.Index
		now := e.Object.indexed(field)
		scopes = append(scopes, Scope{Indexed: true, Value: now})
		if e.Previous != nil && e.Previous.indexed(field) != now {
			scopes = append(scopes, Scope{Indexed: true, Value: e.Previous.indexed(field)})
		}
	}
	return scopes
}

// topic is the part of the history that concerns one scope, and the bell that
// wakes its cursors. A topic lives as long as a cursor uses it; that of the
// whole resource lives as long as the store.
type topic struct {
	log     log
	since   uint64 // events behind this position are complete in log
	cursors int
	bell    atomic.Pointer[chan struct{}] // closed by the next event; nil while nobody waits
}

// wait returns a channel that is closed when the next event arrives. Taken
// before the log is read, it misses none.
func (t *topic) wait() <-chan struct{} {
	for {
		if bell := t.bell.Load(); bell != nil {
			return *bell
		}
		fresh := make(chan struct{})
		if t.bell.CompareAndSwap(nil, &fresh) {
			return fresh
		}
	}
}

func (t *topic) ring() {
	if bell := t.bell.Swap(nil); bell != nil {
		close(*bell)
	}
}
