package transcode

import "sluice/proxy/request"

// What the tests of the whole package read and set.
const (
	MaxError       = maxError
	MaxRequest     = maxRequest
	MaxResponse    = maxResponse
	MediaApplyYAML = mediaApplyYAML
	UnsupportedFor = unsupportedFor
	WriteReserve   = writeReserve
)

// AddUnsupported remembers that the API of a request does not support CBOR.
func (t *Transcoder) AddUnsupported(info *request.Info) { t.unsupported.add(apiOf(info)) }
