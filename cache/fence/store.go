package fence

import (
	"context"
	"time"

	"sluice/cache"
)

// Store is what a fence needs of the store of one resource; [cache.Store] implements it.
type Store interface {
	States
	Ledger
}

// States shows the states of a store.
type States interface {
	// Snapshot returns the newest state.
	Snapshot() *cache.Snapshot
	// At returns the state at exactly a version; the error is ErrGone or ErrAhead.
	At(version uint64) (*cache.Snapshot, error)
	// Changed returns a channel that is closed when more is known than at the time of the call.
	Changed() <-chan struct{}
	// Done returns a channel that is closed when the store ends.
	Done() <-chan struct{}
}

// Ledger tells what is known of which version, and takes evidence.
type Ledger interface {
	// Proves reports whether the newest state shows everything up to a version, and ProvesHistory whether the
	// history has every event up to it.
	Proves(version uint64) bool
	ProvesHistory(version uint64) bool
	// Streamed returns the version up to which the history is complete. Begun reports whether more of a version
	// is on its way.
	Streamed() uint64
	Begun(version uint64) bool
	// LastEvent returns when the newest event was received, and Settled when an inventory proves the newest state.
	LastEvent() time.Time
	Settled() time.Time
	// Doubtful reports whether only an inventory proves a state now.
	Doubtful() bool
	// ConfirmState and ConfirmComplete apply evidence. Their error wraps ErrDiverged if it contradicts the store.
	ConfirmState(i *cache.Inventory) (bool, error)
	ConfirmComplete(s cache.Silence) (bool, error)
}

// Apiserver asks the apiserver about the progress of one resource.
type Apiserver interface {
	// Probe returns the resource version of a consistent LIST that begins after the call.
	Probe(ctx context.Context) (version uint64, err error)

	// Inventory returns the keys and resource versions of a LIST of a scope: of the state at exactly a
	// version, or with version 0 of a consistent LIST that begins after the call.
	Inventory(ctx context.Context, scope cache.Scope, version uint64) (*cache.Inventory, error)

	// SecondWatch opens a second watch of the resource, from version. It calls event with the
	// resource version of each event and bookmark with the resource version of each bookmark, in
	// the order of the stream, and returns when the stream or the context ends.
	SecondWatch(ctx context.Context, version uint64, event, bookmark func(version uint64)) error
}
