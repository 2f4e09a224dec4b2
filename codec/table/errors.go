package table

import "errors"

var (
	// ErrUndetermined is returned when an object's JSON, in the version it is
	// in, does not say what the apiserver prints from its internal form.
	ErrUndetermined = errors.New("the object does not determine its cells")
	// ErrUnprintable is returned when the apiserver itself fails to print the
	// object.
	ErrUnprintable = errors.New("the object cannot be printed")
	// ErrPath is returned when the JSONPath of a custom column is one that
	// this package does not evaluate, or that is not valid at all.
	ErrPath = errors.New("unsupported JSONPath")
)
