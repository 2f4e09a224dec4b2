package transcode

import (
	"sync"
	"time"

	"sluice/proxy/request"
)

const (
	// unsupportedFor is how long an API is remembered not to support CBOR. Afterwards the upstream
	// is asked for CBOR again: it may have been upgraded.
	unsupportedFor = 5 * time.Minute
	// maxUnsupported bounds the APIs that are remembered. The others are asked for CBOR each time.
	maxUnsupported = 1024
)

// unsupportedFormats remembers the APIs that do not support CBOR, so that not every request has to
// be sent twice.
type unsupportedFormats struct {
	now   func() time.Time
	mu    sync.Mutex           // guards until
	until map[string]time.Time // by API: see apiOf
}

// apiOf returns the API of a request, such as "apis/apps/v1".
func apiOf(i *request.Info) string {
	return i.APIPrefix + "/" + i.APIGroup + "/" + i.APIVersion
}

// add remembers that the API does not support CBOR.
func (u *unsupportedFormats) add(api string) {
	now := u.now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.until) >= maxUnsupported {
		for name, until := range u.until {
			if !now.Before(until) {
				delete(u.until, name)
			}
		}
	}
	if _, known := u.until[api]; !known && len(u.until) >= maxUnsupported {
		return
	}
	if u.until == nil {
		u.until = make(map[string]time.Time)
	}
	u.until[api] = now.Add(unsupportedFor)
}

// has reports whether the API is remembered not to support CBOR.
func (u *unsupportedFormats) has(api string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	until, ok := u.until[api]
	return ok && u.now().Before(until)
}
