package reflector

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
)

// ListerWatcher is one resource at the upstream.
type ListerWatcher interface {
	// List calls yield with every object, in any order, and returns the
	// version of the state they make up.
	List(ctx context.Context, yield func(*cache.Object)) (version uint64, err error)

	// Watch opens a stream of the changes after version.
	Watch(ctx context.Context, version uint64) (Stream, error)

	// WatchList opens a stream of the present state as Added changes, of a
	// bookmark that ends it (Event.InitialEventsEnd), and of the changes after it. It
	// returns ErrUnsupported if the upstream has no streaming lists.
	WatchList(ctx context.Context) (Stream, error)
}

// Stream delivers changes in the order of the upstream.
type Stream interface {
	// Next blocks until there is a change. It returns io.EOF when the
	// upstream ended the stream in an orderly way.
	Next() (Event, error)
	Close() error
}

// Event is one element of a stream.
type Event struct {
	// Type is that of an event, or zero for a bookmark.
	Type cache.Type
	// Object is the event's object, nil for a bookmark.
	Object *cache.Object
	// Version is the resource version of the event or bookmark.
	Version uint64
	// InitialEventsEnd marks the bookmark that ends the initial state.
	InitialEventsEnd bool
}

var (
	// ErrExpired is returned by a source when the upstream no longer has the
	// history after the asked version (410).
	ErrExpired = errors.New("upstream history has expired")

	// ErrAbsent is returned by a source when the upstream does not serve the
	// resource (404, 405).
	ErrAbsent = errors.New("upstream does not serve the resource")

	// ErrForbidden is returned by a source when the upstream does not let
	// Sluice read the resource (401, 403).
	ErrForbidden = errors.New("upstream forbids reading the resource")

	// ErrUnsupported is returned by WatchList when the upstream has no
	// streaming lists.
	ErrUnsupported = errors.New("upstream has no streaming lists")

	// ErrRebuild is returned by a stream that can no longer continue the line
	// of history, such as when the encoding of its objects must change.
	ErrRebuild = errors.New("the store must be rebuilt")
)

// RetryAfterError is returned by a source that was told to come back later.
type RetryAfterError struct {
	After time.Duration
	Err   error
}

func (e *RetryAfterError) Error() string { return e.Err.Error() }
func (e *RetryAfterError) Unwrap() error { return e.Err }
