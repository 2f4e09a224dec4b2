package forward

import (
	"sync"
	"time"

	"sluice/proxy/request"
)

const (
	// lackFor is how long it is remembered that an API lacks CBOR; then the
	// upstream is asked again, which may have learned it.
	lackFor = 5 * time.Minute
	// maxLacks bounds the APIs that are remembered; those beyond are asked
	// each time.
	maxLacks = 1024
)

// lacks remembers which APIs do not have CBOR, so that not each request has to
// be sent twice.
type lacks struct {
	now   func() time.Time
	mu    sync.Mutex           // guards until
	until map[string]time.Time // by API, such as "apis/apps/v1"
}

// api names the API of a resource.
func api(i *request.Info) string {
	return i.APIPrefix + "/" + i.APIGroup + "/" + i.APIVersion
}

// add notes that the API has no CBOR.
func (l *lacks) add(api string) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.until) >= maxLacks {
		for name, until := range l.until {
			if !now.Before(until) {
				delete(l.until, name)
			}
		}
	}
	if _, there := l.until[api]; !there && len(l.until) >= maxLacks {
		return
	}
	if l.until == nil {
		l.until = make(map[string]time.Time)
	}
	l.until[api] = now.Add(lackFor)
}

// has reports whether the API is known to have no CBOR.
func (l *lacks) has(api string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.until[api]
	return ok && l.now().Before(until)
}
