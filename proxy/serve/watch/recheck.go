package watch

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

const (
	// recheckLimit bounds one recheck.
	recheckLimit = 10 * time.Second
	// recheckSpread is the time over which the rechecks are spread that a change of access rules
	// starts, so that they do not all reach the apiserver at once.
	recheckSpread = time.Second
	// doubtfulFor is how long a watch stays open while its access cannot be checked: longer than reads of any version go on by
	// default (authorization.staleFor). With the apiserver unreachable it delivers no new events anyway.
	doubtfulFor = 7 * time.Minute
	// revokedWriteLimit is how long a client has, once its access is revoked, to accept the event that
	// is being written and the ERROR event after it. Then the response is cut.
	revokedWriteLimit = 5 * time.Second
)

// accessRecheck checks beside an open watch whether its caller may still read its objects, at
// intervals and after each change of access rules. It runs independently of the watch loop, so that a
// client that reads slowly or not at all cannot postpone it. Events do not wait for it.
type accessRecheck struct {
	server *Server
	r      *http.Request
	read   *request.Read
	client *response.WriteDeadline // bounds the rest of the response once access is revoked

	account string     // the group of the caller's account
	group   *laneGroup // where it waits; nil while it does not. lanes.mu guards it, and what follows
	due     time.Time
	place   int // in group.waiting

	// revoked is called when the watch must end; denied then says why. The loop looks at denied between
	// events too.
	revoked func()
	denied  atomic.Pointer[apierrors.StatusError]

	ignore func() // ends the notifications

	mu        sync.Mutex         // guards what follows
	confirmed time.Time          // when access was last known to be allowed, or need not yet have been
	doubtful  bool               // the last recheck failed
	checking  context.CancelFunc // ends the recheck that runs; nil if none does
	again     bool               // access rules have changed during the recheck
	stopped   bool
	running   sync.WaitGroup
}

// startRechecks starts the rechecks of a watch; stop ends them. client must be the writer of the watch; revoked
// is called at most once and must not block.
func (s *Server) startRechecks(r *http.Request, read *request.Read, client *response.WriteDeadline, revoked func()) *accessRecheck {
	s.lanes.init()
	a := &accessRecheck{server: s, r: r, read: read, client: client, revoked: revoked, confirmed: time.Now()}
	if info := request.Lookup(r.Context()); info != nil {
		a.account = info.Account.Key.Group
	}
	s.lanes.sometimes.schedule(a, a.wait())
	a.ignore = s.Access.Notify(a.changed)
	return a
}

// wait returns the time until the next recheck, at most every, random so that watches which were
// opened together do not check together.
func (a *accessRecheck) wait() time.Duration {
	every := time.Duration(a.server.recheck.Load())
	return every - rand.N(every/2+1)
}

// changed starts a recheck soon, because access rules have changed.
func (a *accessRecheck) changed() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stopped:
	case a.checking != nil:
		a.again = true
	default:
		a.server.lanes.changed.schedule(a, rand.N(recheckSpread))
	}
}

// check is one recheck.
func (a *accessRecheck) check() {
	ctx, cancel := context.WithTimeout(a.r.Context(), recheckLimit)
	defer cancel()
	a.mu.Lock()
	if a.stopped || a.checking != nil {
		a.mu.Unlock()
		return
	}
	if late := time.Now().Add(-time.Duration(a.server.recheck.Load())); !a.doubtful && a.confirmed.Before(late) {
		a.confirmed = late // it has waited for its turn since
	}
	a.checking = cancel
	a.running.Add(1)
	a.mu.Unlock()
	defer a.running.Done()
	denied, err := a.server.Access.StillAllowed(a.r.WithContext(ctx), a.read)
	a.finish(denied, err)
}

// finish revokes the watch or schedules the next recheck.
func (a *accessRecheck) finish(denied *apierrors.StatusError, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checking = nil
	if a.stopped {
		return
	}
	a.doubtful = err != nil
	switch {
	case err == nil && denied == nil:
		a.confirmed = time.Now()
	case err != nil && time.Since(a.confirmed) > doubtfulFor:
		denied = apierrors.NewServiceUnavailable(message.NotReviewed.Say())
	}
	if denied != nil {
		a.endLocked(denied)
		return
	}
	changed, wait := a.again, a.wait()
	if changed {
		a.again, wait = false, rand.N(recheckSpread)
	}
	switch lanes := &a.server.lanes; {
	case a.doubtful:
		lanes.failed.schedule(a, wait)
	case changed:
		lanes.changed.schedule(a, wait)
	default:
		lanes.sometimes.schedule(a, wait)
	}
}

// end ends the watch with an ERROR event, if it has not been told to end before.
func (a *accessRecheck) end(why *apierrors.StatusError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped {
		a.endLocked(why)
	}
}

// endLocked ends the watch. The loop may take a while to call stop: a.stopped keeps another end from
// saying why instead.
func (a *accessRecheck) endLocked(why *apierrors.StatusError) {
	a.stopped = true
	a.denied.Store(why)
	a.revoked()
	a.client.EndWithin(revokedWriteLimit)
}

// stop ends the rechecks and waits for the one that runs.
func (a *accessRecheck) stop() {
	a.ignore()
	a.mu.Lock()
	a.stopped = true
	a.server.lanes.cancel(a)
	if a.checking != nil {
		a.checking()
	}
	a.mu.Unlock()
	a.running.Wait()
}
