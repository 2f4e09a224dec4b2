package transcode

// Limits that the tests of the whole package read.
const (
	MaxError     = maxError
	MaxResponse  = maxResponse
	WriteReserve = writeReserve
)
