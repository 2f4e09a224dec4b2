package resources

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/cache/reflector"
	"sluice/proxy/discovery"
)

// discarded are the versions of states that the stores of a resource have shown and the apiserver has not: of a history that it has discarded, as after a
// restore of etcd from a backup, or by a CRD that had changed. A client that has a state of it would watch from its version, and
// would never receive the differences.
type discarded struct {
	complete uint64 // the version that the last such store has reached
	shown    uint64 // the newest version that any of them has shown
	next     uint64 // the version at which the store after the last such store began; 0 if none has
}

// Discarded reports whether a client that wants to watch from version may have a state of a discarded history, so
// that it must list again. Of a version that the present history has reached that is not known: such a version is
// taken for one of the present history, unless the other store has last shown it. Else a client that lists at the
// apiserver, which is ahead of the store, would have to list again for ever. Once ctx has ended, nobody is asked.
func (r *Registry) Discarded(ctx context.Context, gvr schema.GroupVersionResource, version uint64) bool {
	e := r.entries.get(gvr)
	if e == nil {
		return false
	}
	d, c := e.discarded.Load(), e.current.Load()
	switch {
	case d == nil || version > d.shown:
		return false
	case version >= d.complete || d.next == 0 || version < d.next:
		return true
	case c == nil || version <= c.Store.Snapshot().Version, ctx.Err() != nil:
		return false
	}
	current, err := c.Fence.Prove(ctx, fence.Need{What: fence.Version})
	return err != nil || version > current.Version
}

// ended takes note of why the current store is about to be withdrawn.
func (e *entry) ended(err error) {
	c := e.current.Load()
	if c == nil {
		return
	}
	if errors.Is(err, reflector.ErrForbidden) {
		e.rightsLost.Store(true)
	}
	e.shown = discarded{complete: c.Store.Streamed(), shown: c.Store.Shown()}
	if errors.Is(err, cache.ErrDiverged) || errors.Is(err, discovery.ErrChanged) || c.fillsAgain() {
		e.discard()
	}
}

// succeed takes note of the version at which a store begins: the one before it has shown a discarded history if it
// was newer.
func (e *entry) succeed(version uint64) {
	if version < e.shown.shown {
		e.discard()
	}
	if d := e.discarded.Load(); d != nil && d.next == 0 {
		followed := *d
		followed.next = version
		e.discarded.Store(&followed)
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
