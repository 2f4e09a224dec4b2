package transcode

import (
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/response"
)

// Limits of the memory that bodies take, in bytes.
const (
	// maxRequest is the longest request body that is transcoded: the apiserver's own limit (wire.md
	// 10, 413).
	maxRequest = 3 << 20
	// maxResponse is the longest JSON response that is transcoded. Longer lists have to be paged.
	maxResponse = 32 << 20
	// maxTranscoded is the longest response that is made from JSON, by estimate.
	maxTranscoded = 64 << 20
	// maxEvent is the longest watch event that is transcoded, in JSON: several times the largest
	// object that etcd stores.
	maxEvent = 16 << 20
	// authenticatedQuota and anonymousQuota bound the bodies of all authenticated clients, and of
	// all others: what was received and what is made from it.
	authenticatedQuota = 512 << 20
	anonymousQuota     = 32 << 20
	// usersPerQuota is how many users it takes to exhaust the quota of authenticated clients.
	usersPerQuota = 4
	// writeReserve plus writeReserveFactor times the body is reserved before a write is sent whose
	// response will need transcoding: once the write has taken effect, it is too late to refuse it.
	// It is for the object sent, defaults and managed fields, and what is made from them. A longer
	// response takes what the quota allows.
	writeReserve       = 1 << 20
	writeReserveFactor = 4
)

// maxDepth is the nesting of the deepest response that is transcoded, in levels: indented, a
// response grows with its depth. Objects of the API are far less deep.
const maxDepth = 128

// quota bounds memory in total and per user, in bytes. It is safe for concurrent use.
type quota struct {
	perUser int64

	mu   sync.Mutex
	free int64            // guarded by mu
	used map[string]int64 // by user; guarded by mu
}

func newQuota(total, perUser int64) *quota {
	return &quota{perUser: perUser, free: total, used: map[string]int64{}}
}

// take takes n bytes for a user, or returns them if n is negative. It reports whether they were
// free.
func (q *quota) take(user string, n int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n > 0 && (n > q.free || q.used[user]+n > q.perUser) {
		return false
	}
	q.free -= n
	if q.used[user] += n; q.used[user] == 0 {
		delete(q.used, user)
	}
	return true
}

// reservation is the part of a quota that one request holds. It belongs to one goroutine at a time.
type reservation struct {
	quota *quota
	user  string
	size  int64 // bytes
}

// reserve grows the reservation to at least n bytes. The error is a *StatusError with code 429.
func (r *reservation) reserve(n int64) error {
	if n <= r.size {
		return nil
	}
	if !r.quota.take(r.user, n-r.size) {
		return apierrors.NewTooManyRequests("too many bodies are being transcoded, please try again later", response.RetryAfter)
	}
	r.size = n
	return nil
}

// shrink returns what exceeds n bytes to the quota.
func (r *reservation) shrink(n int64) {
	if n < r.size {
		r.quota.take(r.user, n-r.size)
		r.size = n
	}
}

// release returns everything to the quota.
func (r *reservation) release() { r.shrink(0) }
