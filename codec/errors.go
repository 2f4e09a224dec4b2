package codec

import "errors"

// ErrUnsupported is returned if a conversion cannot be exact, such as from a built-in resource stored as
// JSON to Protobuf. The caller must pass the request upstream.
var ErrUnsupported = errors.New("conversion not supported")
