package codec

import "errors"

var (
	// ErrUnsupported is returned when a conversion cannot be exact, such as a built-in stored as JSON into Protobuf.
	// The caller passes the request upstream.
	ErrUnsupported = errors.New("conversion not supported")
	// ErrTemplate is returned for a bookmark of a resource of which only JSON is known, before its caller has seen one.
	ErrTemplate = errors.New("no bookmark template")
)
