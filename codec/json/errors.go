package json

import (
	"errors"
	"fmt"
)

var (
	// ErrSyntax is returned when the input is not well-formed JSON, or ends early.
	ErrSyntax = errors.New("not well-formed JSON")
	// ErrDepth is returned when arrays and objects nest deeper than the limit.
	ErrDepth = errors.New("nested too deep")
	// ErrNotObject is returned when the input is not a JSON object.
	ErrNotObject = errors.New("not a JSON object")
	// ErrFieldType is returned when a field has a value of the wrong kind, for example a number in
	// metadata.name.
	ErrFieldType = errors.New("wrong type of value")
	// ErrSize is returned when the result would exceed a limit, or be many times as long as the input.
	ErrSize = errors.New("too large")
	// ErrNoField is returned when a required field is missing.
	ErrNoField = errors.New("no such field")
)

// At wraps a sentinel with the kind of text and the byte offset at which reading stopped.
func At(err error, what string, offset int) error {
	return fmt.Errorf("%s at byte %d: %w", what, offset, err)
}
