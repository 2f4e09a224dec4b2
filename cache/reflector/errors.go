package reflector

import "errors"

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
