package resources

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reader is who reads a resource. The caller of Lookup must have authorized the read.
type Reader struct {
	User string
	// Whole reports whether the reader may read, and reads, the whole resource: in all namespaces,
	// without a name or selectors. Others may perhaps read a small part of what a store takes.
	Whole bool
}

const (
	// startsPerSecond is how many stores the reads of one user may start per second, after as many as it
	// may have started at once: each start asks the apiserver what the resource is.
	startsPerSecond = 5
	// partsOfAll is the part of Limits.Resources that readers of parts may start together, so that
	// readers of whole resources always find places.
	partsOfAll = 2
)

// starts bounds how often the reads of each user start stores.
type starts struct {
	burst int

	mu    sync.Mutex // guards what follows
	users map[string]*rate.Limiter
}

// maxStarters is how many users are remembered before those who have started nothing lately are dropped.
const maxStarters = 1000

func newStarts(burst int) *starts { return &starts{burst: burst, users: map[string]*rate.Limiter{}} }

// allow reports whether a read of the user may start a store now.
func (s *starts) allow(user string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.users[user]
	if l == nil {
		if len(s.users) >= maxStarters {
			for name, l := range s.users {
				if l.TokensAt(now) >= float64(s.burst) {
					delete(s.users, name)
				}
			}
		}
		l = rate.NewLimiter(startsPerSecond, s.burst)
		s.users[user] = l
	}
	return l.AllowN(now, 1)
}

// mayStart reports whether a read by a reader may start one more store. The caller must hold mu.
func (r *Registry) mayStart(reader Reader, now time.Time) bool {
	limits := r.options.Limits
	var all, parts, own, ownParts int
	for _, e := range r.entries {
		all++
		if !e.startedBy.Whole {
			parts++
		}
		if e.startedBy.User == reader.User {
			own++
			if !e.startedBy.Whole {
				ownParts++
			}
		}
	}
	switch {
	case all >= limits.Resources, own >= limits.PerUser:
		return false
	case !reader.Whole && (ownParts >= limits.PerPartialReader || parts >= max(1, limits.Resources/partsOfAll)):
		return false
	}
	return r.starts.allow(reader.User, now)
}

// adopt makes a store that a reader of a part has started count for a reader of the whole resource.
func (r *Registry) adopt(e *entry, reader Reader) {
	if !reader.Whole || !e.partial.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e.startedBy = reader
	e.partial.Store(false)
}

// absent remembers that a resource is not cacheable, without an entry for it.
func (r *Registry) absent(gvr schema.GroupVersionResource) {
	r.notCacheable.Add(gvr, nil, notCacheableFor)
}

// maxAbsent is how many resources that are not cacheable are remembered.
const maxAbsent = 10_000
