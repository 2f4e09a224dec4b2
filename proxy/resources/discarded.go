package resources

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/proxy/discovery"
)

// discarded is what the stores of a resource have shown of a history that the apiserver has discarded, as after a
// restore of etcd from a backup. A client that has a state of it would watch from its version, and would never
// learn what differs.
type discarded struct {
	complete uint64 // the version that the last such store has reached
	shown    uint64 // the newest version that any of them has shown
}

// Discarded reports whether a client that wants to watch from version may have a state of a discarded history, so
// that it must list again. Of a version that the present store covers that is not known: such a version is taken for
// one of the present history, unless the other store has last shown it.
func (r *Registry) Discarded(gvr schema.GroupVersionResource, version uint64) bool {
	r.mu.RLock()
	e := r.entries[gvr]
	r.mu.RUnlock()
	if e == nil {
		return false
	}
	d, c := e.discarded.Load(), e.current.Load()
	if d == nil || version > d.shown {
		return false
	}
	return c == nil || version >= d.complete || version < c.Store.OldestVersion() || version > c.Store.Snapshot().Version
}

// ended takes note of why the current store is about to be withdrawn.
func (e *entry) ended(err error) {
	c := e.current.Load()
	if c == nil {
		return
	}
	e.shown = discarded{c.Store.CompleteVersion(), c.Store.Snapshot().Version}
	if errors.Is(err, cache.ErrDiverged) && !errors.Is(err, discovery.ErrChanged) {
		e.discard()
	}
}

// succeed takes note of the version at which a store begins: the one before it has shown a discarded history if it
// was newer.
func (e *entry) succeed(version uint64) {
	if version < e.shown.shown {
		e.discard()
	}
}

// discard records that the last store has shown a discarded history.
func (e *entry) discard() {
	d := e.shown
	if before := e.discarded.Load(); before != nil {
		d.shown = max(d.shown, before.shown)
	}
	e.discarded.Store(&d)
}
