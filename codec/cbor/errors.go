package cbor

import (
	"errors"
	"fmt"
)

var (
	// ErrJSON is returned when what should be JSON is not.
	ErrJSON = errors.New("not well-formed JSON")
	// ErrNumber is returned when a JSON number is beyond float64.
	ErrNumber = errors.New("number out of range")
	// ErrDepth is returned when arrays and maps nest too deep.
	ErrDepth = errors.New("nested too deep")
	// ErrSize is returned when there are more bytes than allowed.
	ErrSize = errors.New("too large")
	// ErrDecode is returned when bytes are not CBOR that the apiserver would
	// accept. The error's text is the decoder's own, as clients of the
	// apiserver see it.
	ErrDecode = errors.New("cannot decode CBOR")
)

// at wraps a sentinel with what was being read and the byte offset.
func at(err error, what string, offset int) error {
	return fmt.Errorf("%s at byte %d: %w", what, offset, err)
}
