package reflector

import (
	"context"

	"sluice/cache"
	"sluice/cache/tree"
)

// ListerWatcher lists and watches one resource at the apiserver.
type ListerWatcher interface {
	// List calls yield with every object, in any order, and returns the resource version of the
	// list.
	List(ctx context.Context, yield func(*tree.Object)) (version uint64, err error)

	// Watch opens a watch of the events after version.
	Watch(ctx context.Context, version uint64) (Stream, error)

	// Inventory returns the keys and resource versions of a consistent list of the resource, as the
	// store of the last List or WatchList has them.
	Inventory(ctx context.Context) (*cache.Inventory, error)

	// WatchList opens a streaming list (KEP-3157): the initial events, which are Added events of
	// every object, the bookmark that ends them, and the events after it. It returns
	// ErrUnsupported if the apiserver has no streaming lists, and is then not called again.
	WatchList(ctx context.Context) (Stream, error)
}

// Stream is an open watch. It delivers events in the order of the apiserver.
type Stream interface {
	// Continues reports whether it is certain that the watch is of the same history as the
	// reads of the ListerWatcher before it.
	Continues() bool
	// Next blocks until there is an event. It returns io.EOF when the apiserver ended the watch
	// in an orderly way.
	Next() (Event, error)
	Close() error
}

// Event is one event of a watch: a change of an object, or a bookmark.
type Event struct {
	// Type is zero for a bookmark.
	Type cache.Type
	// Object is nil for a bookmark.
	Object *tree.Object
	// Version is the resource version of the event or bookmark.
	Version uint64
	// InitialEventsEnd marks the bookmark that ends the initial events (k8s.io/initial-events-end).
	InitialEventsEnd bool
}
