package cbor

import "errors"

var (
	// ErrNumber is returned when a JSON number is beyond float64.
	ErrNumber = errors.New("number out of range")
	// ErrDecode is returned for CBOR that the apiserver refuses. The text of the error is that of
	// its decoder, as clients of the apiserver see it.
	ErrDecode = errors.New("cannot decode CBOR")
)
