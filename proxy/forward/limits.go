package forward

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/request"
)

// Limits bounds the requests of each class that are in flight to the upstream. The classes are apart,
// so that passed lists never take the places of writes, nor anything those of leases. A user, or the
// address of unauthenticated callers, holds at most half of the places of a class. Zero means the
// default.
type Limits struct {
	Anonymous int // of unauthenticated callers, over HTTP/1.1: one connection each
	Reads     int // gets and lists
	Writes    int
	Leases    int // reads and writes of single leases, by which nodes and leaders stay alive
	Streams   int // watches, logs, proxied requests and upgrades
	// Wait is how long a request waits for a place before it is rejected with a 429.
	Wait time.Duration
}

// DefaultLimits are half as much again as kube-apiserver's limits of requests in flight, which are 400
// reads and 200 writes, so that the apiserver's own fair queueing decides first.
var DefaultLimits = Limits{Anonymous: 64, Reads: 600, Writes: 300, Leases: 200, Streams: 4000, Wait: 5 * time.Second}

// quota is the limit of one class.
type quota struct {
	class   string
	metrics *Metrics
	all     *semaphore.Weighted
	share   int64 // of one user
	wait    time.Duration

	mu    sync.Mutex
	users map[string]*userQuota // of users with requests that have a place or wait for one
}

// userQuota is the part of a quota that one user may take.
type userQuota struct {
	places   *semaphore.Weighted
	requests int
}

// quotas are the quotas of all classes.
type quotas struct{ anonymous, reads, writes, leases, streams *quota }

func newQuotas(l Limits, m *Metrics) *quotas {
	quotaOf := func(class string, limit, byDefault int) *quota {
		limit = cmp.Or(limit, byDefault)
		return &quota{
			class: class, metrics: m, all: semaphore.NewWeighted(int64(limit)), share: max(1, int64(limit)/2), wait: cmp.Or(l.Wait, DefaultLimits.Wait),
			users: make(map[string]*userQuota),
		}
	}
	d := DefaultLimits
	q := &quotas{
		anonymous: quotaOf("anonymous", l.Anonymous, d.Anonymous), reads: quotaOf("reads", l.Reads, d.Reads),
		writes: quotaOf("writes", l.Writes, d.Writes), leases: quotaOf("leases", l.Leases, d.Leases),
		streams: quotaOf("streams", l.Streams, d.Streams),
	}
	return q
}

// of returns the quota that a request takes a place of.
func (q *quotas) of(info *request.Info) *quota {
	switch {
	case info.Caller == request.Unauthenticated:
		return q.anonymous
	case info.Upgrade || info.Verb == "watch" || isStream(info.Subresource):
		return q.streams
	case info.APIGroup == "coordination.k8s.io" && info.Resource == "leases" && info.Verb != "list" && info.Verb != "deletecollection":
		return q.leases
	case info.Verb == "get" || info.Verb == "list" || info.Verb == "head" || info.Verb == "options":
		return q.reads
	}
	return q.writes
}

func isStream(subresource string) bool {
	switch subresource {
	case "proxy", "log", "exec", "attach", "portforward":
		return true
	}
	return false
}

// acquire waits for a place. The error is a 429, or the error of the context.
func (q *quota) acquire(ctx context.Context, user string) (release func(), err error) {
	wait, cancel := context.WithTimeout(ctx, q.wait)
	defer cancel()
	leave, err := q.enter(wait, user)
	if err == nil {
		if err = q.all.Acquire(wait, 1); err != nil {
			leave()
		}
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case err != nil:
		q.metrics.rejected.WithLabelValues(q.class).Inc()
		return nil, apierrors.NewTooManyRequests("too many "+q.class+" are in flight to the apiserver", retrySeconds)
	}
	inFlight := q.metrics.inFlight.WithLabelValues(q.class)
	inFlight.Inc()
	return func() {
		inFlight.Dec()
		q.all.Release(1)
		leave()
	}, nil
}

// enter waits for a place in the share of the user.
func (q *quota) enter(ctx context.Context, user string) (leave func(), err error) {
	q.mu.Lock()
	u := q.users[user]
	if u == nil {
		u = &userQuota{places: semaphore.NewWeighted(q.share)}
		q.users[user] = u
	}
	u.requests++
	q.mu.Unlock()
	forget := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if u.requests--; u.requests == 0 {
			delete(q.users, user)
		}
	}
	if err := u.places.Acquire(ctx, 1); err != nil {
		forget()
		return nil, err
	}
	return func() {
		u.places.Release(1)
		forget()
	}, nil
}

// place is the place of one request in a quota. The request takes it when it is first sent, after the
// gateway has read the body: a client that stalls its body must not hold a place of others.
type place struct {
	quota   *quota
	user    string // or the address of an unauthenticated caller
	release func() // nil until the place is taken
}

type placeKey struct{}

// withPlace returns the request with a place to take. The caller must call leave when the request has
// ended.
func (q *quotas) withPlace(r *http.Request, info *request.Info) (out *http.Request, leave func()) {
	p := &place{quota: q.of(info), user: info.User}
	if p.quota == q.anonymous {
		p.user, _, _ = net.SplitHostPort(r.RemoteAddr)
	}
	leave = func() {
		if p.release != nil {
			p.release()
		}
	}
	return r.WithContext(context.WithValue(r.Context(), placeKey{}, p)), leave
}

// takePlace waits for the place of the request, unless it has it already.
func takePlace(ctx context.Context) error {
	p := ctx.Value(placeKey{}).(*place)
	if p.release != nil {
		return nil
	}
	var err error
	p.release, err = p.quota.acquire(ctx, p.user)
	return err
}
