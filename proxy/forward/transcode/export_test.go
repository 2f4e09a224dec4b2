package transcode

import (
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"sluice/proxy/request"
)

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
func (t *Transcoder) AddUnsupported(info *request.Info) {
	t.unsupported.Add(apiOf(info), nil, unsupportedFor)
}

// NewAt is New with another clock.
func NewAt(now clock) *Transcoder {
	t := New()
	t.unsupported = cache.NewLRUExpireCacheWithClock(maxUnsupported, now)
	return t
}

type clock func() time.Time

// Now implements cache.Clock.
func (c clock) Now() time.Time { return c() }
