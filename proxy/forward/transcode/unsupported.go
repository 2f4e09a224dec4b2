package transcode

import (
	"time"

	"sluice/proxy/request"
)

const (
	// unsupportedFor is how long an API is remembered not to support CBOR. Afterwards the upstream
	// is asked for CBOR again: it may have been upgraded.
	unsupportedFor = 5 * time.Minute
	// maxUnsupported bounds the APIs that are remembered.
	maxUnsupported = 1024
)

// apiOf returns the API of a request, such as "apis/apps/v1".
func apiOf(i *request.Info) string {
	return i.APIPrefix + "/" + i.APIGroup + "/" + i.APIVersion
}
