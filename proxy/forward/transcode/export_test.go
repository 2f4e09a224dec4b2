package transcode

// What the tests of the whole package read and set.
const (
	MaxError       = maxError
	MaxRequest     = maxRequest
	MaxResponse    = maxResponse
	MediaApplyYAML = mediaApplyYAML
	WriteReserve   = writeReserve
)
