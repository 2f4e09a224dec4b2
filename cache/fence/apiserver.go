package fence

import (
	"context"

	"sluice/cache"
)

// Apiserver asks the apiserver about the progress of one resource.
type Apiserver interface {
	// Probe returns the resource version of a consistent LIST that begins after the call.
	Probe(ctx context.Context) (version uint64, err error)

	// Inventory returns the keys and resource versions of a LIST of a scope: of the state at exactly a
	// version, or with version 0 of a consistent LIST that begins after the call. With an error it may return the
	// part that has been read.
	Inventory(ctx context.Context, scope cache.Scope, version uint64) (*cache.Inventory, error)

	// SecondWatch opens a second watch of the resource, from version. It calls event with the
	// resource version of each event and bookmark with the resource version of each bookmark, in
	// the order of the stream, and returns when the stream or the context ends.
	SecondWatch(ctx context.Context, version uint64, event, bookmark func(version uint64)) error
}
