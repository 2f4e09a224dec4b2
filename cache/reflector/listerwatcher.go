package reflector

import (
	"context"
	"errors"

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

var (
	// ErrExpired is returned by a ListerWatcher when the apiserver no longer has the events after
	// the requested version (410).
	ErrExpired = errors.New("history has expired at the apiserver")

	// ErrAbsent is returned by a ListerWatcher when the apiserver does not serve the resource
	// (404, 405).
	ErrAbsent = errors.New("apiserver does not serve the resource")

	// ErrForbidden is returned by a ListerWatcher when the apiserver does not allow Sluice to read
	// the resource (401, 403). A watch that is refused so is tried again maxRefusals times.
	ErrForbidden = errors.New("apiserver forbids reading the resource")

	// ErrUnsupported is returned by WatchList when the apiserver has no streaming lists.
	ErrUnsupported = errors.New("apiserver has no streaming lists")

	// ErrListInstead is returned by WatchList and by its Stream when the apiserver cannot deliver
	// the initial events now. The session begins with an ordinary list; the next tries again.
	ErrListInstead = errors.New("apiserver cannot deliver the initial events")

	// ErrRebuild is returned by a ListerWatcher or Stream when the store cannot be continued, such
	// as when the encoding of its objects must change.
	ErrRebuild = errors.New("the store must be rebuilt")

	// ErrUnreadable is returned by a Stream for an event that cannot be read, such as one of an unknown
	// type. The store must be rebuilt: a resumed watch would deliver the same event again.
	ErrUnreadable = errors.New("unreadable event")
)
