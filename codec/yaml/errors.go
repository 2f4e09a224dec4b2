package yaml

import (
	"errors"
	"fmt"
)

var (
	// ErrJSON is returned when what should be JSON is not.
	ErrJSON = errors.New("not well-formed JSON")
	// ErrDecode is returned when bytes are not YAML that the apiserver would
	// accept. The error's text is the parser's own, as clients of the
	// apiserver see it.
	ErrDecode = errors.New("cannot decode YAML")
	// ErrDepth is returned when lists and maps nest too deep.
	ErrDepth = errors.New("nested too deep")
	// ErrSize is returned when there are more bytes than allowed, or would be
	// after the expansion of aliases.
	ErrSize = errors.New("too large")
)

// at wraps a sentinel with what was being read and the byte offset.
func at(err error, what string, offset int) error {
	return fmt.Errorf("%s at byte %d: %w", what, offset, err)
}
