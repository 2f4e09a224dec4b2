package json

import (
	"errors"
	"fmt"
)

var (
	// ErrSyntax is returned when bytes are not JSON.
	ErrSyntax = errors.New("not well-formed JSON")
	// ErrDepth is returned when arrays and objects nest too deep.
	ErrDepth = errors.New("nested too deep")
	// ErrNotObject is returned when an object was needed and something else
	// was found.
	ErrNotObject = errors.New("not a JSON object")
	// ErrFieldType is returned when a known field holds another kind of
	// value than it must, for example a number as metadata.name.
	ErrFieldType = errors.New("wrong type of value")
	// ErrNoField is returned when a field that must be there is not.
	ErrNoField = errors.New("no such field")
)

// at wraps a sentinel with what was being read and the byte offset at which
// reading stopped.
func at(err error, what string, offset int) error {
	return fmt.Errorf("%s at byte %d: %w", what, offset, err)
}
