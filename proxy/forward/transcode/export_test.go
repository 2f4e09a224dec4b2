package transcode

import "sluice/proxy/request"

// What the tests of the whole package read and set.
const (
	AuthenticatedQuota = authenticatedQuota
	MaxError           = maxError
	MaxRequest         = maxRequest
	MaxResponse        = maxResponse
	MediaApplyYAML     = mediaApplyYAML
	UnsupportedFor     = unsupportedFor
	WriteReserve       = writeReserve
)

// SetQuotas replaces the quotas, in bytes.
func (t *Transcoder) SetQuotas(authenticated, anonymous int64) {
	t.authenticated, t.anonymous = newQuota(authenticated, authenticated), newQuota(anonymous, anonymous)
}

// FreeBytes returns what is free of both quotas.
func (t *Transcoder) FreeBytes() (authenticated, anonymous int64) {
	return freeBytes(t.authenticated), freeBytes(t.anonymous)
}

func freeBytes(q *quota) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.free
}

// AddUnsupported remembers that the API of a request does not support CBOR.
func (t *Transcoder) AddUnsupported(info *request.Info) { t.unsupported.add(apiOf(info)) }
