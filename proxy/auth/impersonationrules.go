package auth

import (
	"context"
	"sync"
	"time"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
)

const (
	// versionTTL is for how long the apiserver's version is taken to be the same, and versionRetry is the
	// time between attempts to read it.
	versionTTL     = time.Minute
	versionRetry   = 5 * time.Second
	versionTimeout = 5 * time.Second
)

// constrainedSince is the first release that has constrained impersonation (KEP-5284) by default.
var constrainedSince = utilversion.MajorMinor(1, 36)

// impersonationRules knows by which rules the apiserver allows impersonation. Constrained impersonation
// allows more: permissions that an older apiserver does not know.
type impersonationRules struct {
	version func(context.Context) (*version.Info, error) // of the apiserver; nil for the newest

	mu          sync.Mutex // guards what follows
	constrained bool
	expires     time.Time
	asking      chan struct{} // closed when the apiserver has been asked; nil while it is not
}

// areConstrained reports whether the apiserver has constrained impersonation. As long as its version
// cannot be read, or when ctx ends first, the last answer holds, or else that it has not.
func (r *impersonationRules) areConstrained(ctx context.Context) bool {
	if r.version == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.expires) {
		return r.constrained
	}
	if r.asking == nil {
		r.asking = make(chan struct{})
		go r.ask(r.asking)
	}
	asked := r.asking
	r.mu.Unlock() // an apiserver that does not answer must not make callers wait for each other
	select {
	case <-asked:
	case <-ctx.Done():
	}
	r.mu.Lock()
	return r.constrained
}

// ask reads the version on behalf of all who wait for it, and then closes asked.
func (r *impersonationRules) ask(asked chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	info, err := r.version(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(asked)
	r.asking, r.expires = nil, time.Now().Add(versionRetry)
	if err != nil {
		return
	}
	if v, err := utilversion.ParseGeneric(info.GitVersion); err == nil {
		r.constrained, r.expires = v.AtLeast(constrainedSince), time.Now().Add(versionTTL)
	}
}
