package table

import "errors"

var (
	// ErrUndetermined is returned if the JSON of an object, in its version, lacks values
	// that the apiserver prints from its internal type.
	ErrUndetermined = errors.New("the object does not determine its cells")
	// ErrUnprintable is returned for an object that the apiserver itself fails to print.
	ErrUnprintable = errors.New("the object cannot be printed")
	// ErrPath is returned for the JSONPath of a custom column that is invalid, whose first value
	// depends on the iteration order of a Go map, or which is long or could find many values.
	ErrPath = errors.New("unsupported JSONPath")
)
