package yaml

import (
	"errors"
	"fmt"
)

var (
	// ErrJSON is returned when the input of AppendFromJSON is not well-formed JSON.
	ErrJSON = errors.New("not well-formed JSON")
	// ErrDecode is returned for YAML that the apiserver refuses. The text of the error is that of
	// its parser, as clients of the apiserver see it.
	ErrDecode = errors.New("cannot decode YAML")
	// ErrDepth is returned when lists and maps nest too deep.
	ErrDepth = errors.New("nested too deep")
	// ErrSize is returned when the JSON of a YAML document, with its aliases expanded, is longer
	// than the limit.
	ErrSize = errors.New("too large")
)

// at wraps a sentinel with what was read and the byte offset.
func at(err error, what string, offset int) error {
	return fmt.Errorf("%s at byte %d: %w", what, offset, err)
}
