package cbor

import (
	"errors"
	"fmt"
)

var (
	// ErrJSON is returned when the input of AppendFromJSON is not well-formed JSON.
	ErrJSON = errors.New("not well-formed JSON")
	// ErrNumber is returned when a JSON number is beyond float64.
	ErrNumber = errors.New("number out of range")
	// ErrDepth is returned when arrays and maps nest too deep.
	ErrDepth = errors.New("nested too deep")
	// ErrSize is returned when the JSON of a CBOR item is longer than the limit.
	ErrSize = errors.New("too large")
	// ErrDecode is returned for CBOR that the apiserver refuses. The text of the error is that of
	// its decoder, as clients of the apiserver see it.
	ErrDecode = errors.New("cannot decode CBOR")
)

// at wraps a sentinel with what was read and the byte offset.
func at(err error, what string, offset int) error {
	return fmt.Errorf("%s at byte %d: %w", what, offset, err)
}
