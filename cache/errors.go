package cache

import "errors"

var (
	// ErrGone is returned when events after the asked version are no longer,
	// or were never, part of the store's history.
	ErrGone = errors.New("history is gone")

	// ErrClosed is returned by cursors once their store has ended.
	ErrClosed = errors.New("store is closed")

	// ErrAhead is returned when the store has not reached the asked version.
	ErrAhead = errors.New("version is not reached")

	// ErrPending is returned when a cursor has events left to read.
	ErrPending = errors.New("cursor is behind")

	// ErrDiverged is returned to the writer when an event contradicts the
	// state of the store. The store must then be closed and rebuilt.
	ErrDiverged = errors.New("event contradicts the stored state")
)
