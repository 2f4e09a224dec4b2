package serve

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

const (
	// recheckLimit bounds one recheck.
	recheckLimit = 10 * time.Second
	// doubtfulFor is how long a watch stays open while its access cannot be checked: with the
	// apiserver unreachable it delivers no new events anyway.
	doubtfulFor = 2 * time.Minute
)

// accessRecheck checks beside an open watch whether its caller may still read what it shows. Events
// do not wait for it.
type accessRecheck struct {
	access    Access
	r         *http.Request
	every     time.Duration
	confirmed time.Time          // when access was last known to be allowed
	result    chan recheckResult // of the recheck that runs; nil if none does

	running sync.WaitGroup
	cancel  context.CancelFunc // of the last recheck
}

// recheckResult is what Access.StillAllowed returns.
type recheckResult struct {
	allowed bool
	err     error
}

func newAccessRecheck(access Access, r *http.Request, every time.Duration) *accessRecheck {
	return &accessRecheck{access: access, r: r, every: every, confirmed: time.Now()}
}

// wait returns the time until the next recheck, random so that watches which were opened together do
// not check together.
func (a *accessRecheck) wait() time.Duration { return a.every/2 + rand.N(a.every) }

// start starts a recheck. None may be running.
func (a *accessRecheck) start() {
	ctx, cancel := context.WithTimeout(a.r.Context(), recheckLimit)
	result := make(chan recheckResult, 1)
	a.cancel, a.result = cancel, result
	a.running.Go(func() {
		defer cancel()
		allowed, err := a.access.StillAllowed(a.r.WithContext(ctx))
		result <- recheckResult{allowed, err}
	})
}

// finish takes the result of a recheck and reports whether the watch goes on.
func (a *accessRecheck) finish(r recheckResult) bool {
	a.result = nil
	if r.err != nil {
		return time.Since(a.confirmed) <= doubtfulFor
	}
	a.confirmed = time.Now()
	return r.allowed
}

// stop cancels the recheck that runs and waits for it.
func (a *accessRecheck) stop() {
	if a.cancel != nil {
		a.cancel()
	}
	a.running.Wait()
}
