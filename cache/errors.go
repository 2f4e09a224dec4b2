package cache

import (
	"errors"
	"time"
)

var (
	// ErrGone is returned when the history no longer has, or never had, the events after the
	// requested version. The API answers it with 410 Gone.
	ErrGone = errors.New("history is gone")

	// ErrClosed is returned when the store has ended and the reader has read all of its events.
	ErrClosed = errors.New("store is closed")

	// ErrAhead is returned when the store has not reached the requested version.
	ErrAhead = errors.New("version is not reached")

	// ErrPending is returned by [Cursor.CaughtUpVersion] when the cursor has events left to read.
	ErrPending = errors.New("cursor has events to read")

	// ErrDiverged is returned when the apiserver contradicts the state of the store. The store must then be
	// closed and replaced.
	ErrDiverged = errors.New("the apiserver contradicts the stored state")

	// ErrHeldBack is the reason to replace a store that lacks events which do not come, although readers wait
	// for them. Its watch may be stuck, so the next store must not be filled by a watch.
	ErrHeldBack = errors.New("events are held back")
)

// RetryAfterError is the error of a request that the apiserver answered with Retry-After.
type RetryAfterError struct {
	After time.Duration
	Err   error
}

func (e *RetryAfterError) Error() string { return e.Err.Error() }
func (e *RetryAfterError) Unwrap() error { return e.Err }
