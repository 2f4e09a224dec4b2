package watch

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/limits"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

const (
	// soonAtOnce is how many rechecks run at the same time that a change of access rules asks for, or whose last one failed;
	// soonOfSystem of them are for system callers only. Others run one by one, in the order in which they were due, whoever has
	// the watch: the time until all open watches are rechecked is what any of them waits at most.
	soonAtOnce, soonOfSystem = 20, 4
	// restFactor is how many times as long as a recheck took no other of the latter begins, for at most maxRest. They take a tenth
	// of the time if they take up to 100 ms, however many watches there are: each node and each token has reviews of its own.
	restFactor = 9
	maxRest    = time.Second
	// longest is how long such a recheck keeps the others waiting.
	longest = time.Second
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

// rechecks are the queues of the rechecks that are due.
type rechecks struct{ soon, sometimes *limits.Queue }

func newRechecks() rechecks {
	return rechecks{soon: limits.NewQueue(soonAtOnce, soonOfSystem), sometimes: limits.NewQueue(1, 0)}
}

// accessRecheck checks beside an open watch whether its caller may still read its objects, at
// intervals and after each change of access rules. It runs independently of the watch loop, so that a
// client that reads slowly or not at all cannot postpone it. Events do not wait for it.
type accessRecheck struct {
	server *Server
	r      *http.Request
	read   *request.Read
	client *response.WriteDeadline // bounds the rest of the response once access is revoked

	caller limits.Caller

	// revoked is called when the watch must end; denied then says why. The loop looks at denied between
	// events too.
	revoked func()
	denied  atomic.Pointer[apierrors.StatusError]

	ignore func() // ends the notifications

	mu        sync.Mutex         // guards what follows
	timer     *time.Timer        // fires when the next recheck is due
	soon      bool               // that waits in rechecks.soon
	unqueue   func()             // ends its wait
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
	a := &accessRecheck{server: s, r: r, read: read, client: client, revoked: revoked, confirmed: time.Now(), unqueue: func() {}}
	if info := request.Lookup(r.Context()); info != nil {
		a.caller = info.Waits()
	}
	a.mu.Lock()
	a.schedule(false, a.wait())
	a.mu.Unlock()
	a.ignore = s.Access.Notify(a.changed)
	return a
}

// schedule makes the next recheck due after some time, instead of one that waits. The caller must hold mu.
func (a *accessRecheck) schedule(soon bool, after time.Duration) {
	a.cancel()
	a.soon = soon
	a.timer = time.AfterFunc(after, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch {
		case a.stopped || a.soon != soon: // another is scheduled
		case soon:
			a.unqueue = a.server.rechecks.soon.Go(a.caller, func(leave func()) { defer leave(); a.check() })
		default:
			a.unqueue = a.server.rechecks.sometimes.Go(limits.Caller{}, a.checkSometimes)
		}
	})
}

// cancel ends the wait for the next recheck. The caller must hold mu.
func (a *accessRecheck) cancel() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.unqueue()
	a.unqueue, a.soon = func() {}, false
}

// checkSometimes is a recheck that nothing but time has asked for.
func (a *accessRecheck) checkSometimes(leave func()) {
	begin := time.Now()
	late := time.AfterFunc(longest, leave)
	a.check()
	late.Stop()
	time.AfterFunc(min(restFactor*time.Since(begin), maxRest), leave)
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
	case a.stopped || a.soon:
	case a.checking != nil:
		a.again = true
	default:
		a.schedule(true, rand.N(recheckSpread))
	}
}

// check is one recheck.
func (a *accessRecheck) check() {
	a.mu.Lock()
	if a.stopped || a.checking != nil { // the request of a watch that has ended is the server's again
		a.mu.Unlock()
		return
	}
	ctx, cancel := context.WithTimeout(a.r.Context(), recheckLimit)
	defer cancel()
	if late := time.Now().Add(-time.Duration(a.server.recheck.Load())); !a.doubtful && a.confirmed.Before(late) {
		a.confirmed = late // it has waited for its turn since
	}
	a.checking, a.soon = cancel, false
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
	if a.again {
		a.again = false
		a.schedule(true, rand.N(recheckSpread))
		return
	}
	a.schedule(a.doubtful, a.wait())
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
	a.cancel()
	if a.checking != nil {
		a.checking()
	}
	a.mu.Unlock()
	a.running.Wait()
}
