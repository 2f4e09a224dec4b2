package cache

import "sync/atomic"

// Scope says which events concern a watch, so that others do not wake it: the
// zero Scope is the whole resource.
type Scope struct {
	Namespace string // only this namespace
	Key       Key    // only this object
}

// Contains reports whether the object with key k is in scope.
func (s Scope) Contains(k Key) bool {
	if s.Key != "" {
		return k == s.Key
	}
	return s.Namespace == "" || Namespace(s.Namespace).Contains(k)
}

// Range returns the range of keys in scope.
func (s Scope) Range() Range {
	if s.Key != "" {
		return Single(s.Key)
	}
	return Namespace(s.Namespace)
}

// scopesOf returns the scopes that an event on k concerns.
func scopesOf(k Key) [3]Scope {
	return [3]Scope{{}, {Namespace: k.Namespace()}, {Key: k}}
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
