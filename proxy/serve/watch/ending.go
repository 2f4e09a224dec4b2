package watch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache"
	"sluice/proxy/limits"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// shortestLife is the shortest life of a watch without timeoutSeconds. Like one of the apiserver it ends at a random
// time between this and twice this.
const shortestLife = 30 * time.Minute

// ended is the error of a watch that ends without an ERROR event.
type ended request.WatchEnd

// Error implements error.
func (e ended) Error() string { return string(e) }

// errToldToEnd ends a watch that was told to end: its access has been revoked, or it is read too slowly.
var errToldToEnd = errors.New("told to end")

// errTooSlow ends a watch that holds too much memory. The client must list again: events that it has not read are
// gone.
var errTooSlow = apierrors.NewResourceExpired(message.TooSlow.Say())

// ending is when a watch must end, and why.
type ending struct {
	client        *response.WriteDeadline
	recheck       *accessRecheck
	timer         *timer
	wake          wake            // at the end of the request, when the timer fires, and when the watch is told to end
	ignoreContext func() bool     // ends the wait for the end of the request
	draining      <-chan struct{} // nil once the drain has been noticed
	restBounded   bool            // the store has ended
}

func (s *Server) newEnding(r *http.Request, p *plan.Plan, client *response.WriteDeadline) *ending {
	e := &ending{client: client, wake: newWake(), draining: s.Draining}
	lifetime := p.Options.Timeout
	if lifetime <= 0 {
		lifetime = shortestLife + rand.N(shortestLife)
	}
	e.timer = newTimer(lifetime, e.wake)
	e.ignoreContext = context.AfterFunc(r.Context(), e.wake.signal)
	e.recheck = s.startRechecks(r, p.Read, client, e.wake.signal)
	return e
}

// told reports whether the watch was told to end.
func (e *ending) told() bool { return e.recheck.denied.Load() != nil }

// boundRest bounds how long the client may take for the rest of the events once the store has ended: only
// such clients keep it in memory.
func (e *ending) boundRest(store *cache.Store) {
	if e.restBounded {
		return
	}
	select {
	case <-store.Done():
		e.restBounded = true
		e.client.EndWithin(response.WriteTimeout)
	default:
	}
}

// stop ends the goroutines beside the watch.
func (e *ending) stop() {
	e.recheck.stop()
	e.timer.Stop()
	e.ignoreContext()
}

// of returns how a watch ends because of an error, and the status of its ERROR event, which tells a client that reads it
// why: the watch was told to end, no proof has come, an object cannot be written, or there is no memory for it. Clients
// resume after a 429 from their last version, and a watch that cannot be encoded passes then.
func (e *ending) of(err error) (how request.WatchEnd, status *apierrors.StatusError) {
	denied := e.recheck.denied.Load()
	if errors.Is(err, errToldToEnd) {
		status = denied
	}
	if known, ok := err.(ended); ok {
		return request.WatchEnd(known), nil
	}
	if refused, ok := errors.AsType[*limits.Refused](err); ok {
		status = &apierrors.StatusError{ErrStatus: refused.Status()}
	}
	late, isLate := errors.AsType[*apierrors.StatusError](err)
	switch {
	case isLate:
		return request.APIServerAway, late
	case denied == errTooSlow, denied == nil && e.client.Stalled():
		return request.ClientStalled, status
	case denied != nil && apierrors.IsServiceUnavailable(denied):
		return request.APIServerAway, status
	case denied != nil && apierrors.IsResourceExpired(denied): // rights have changed
		return request.Expired, status
	case denied != nil:
		return request.Revoked, status
	case errors.Is(err, cache.ErrGone):
		return request.Expired, nil
	case errors.Is(err, cache.ErrClosed), errors.Is(err, cache.ErrDiverged):
		return request.StoreRebuilt, nil
	case errors.Is(err, encode.ErrUnencodable):
		return request.Failed, apierrors.NewTooManyRequests(message.Unwritable.Say(), response.RetryAfter)
	case status != nil, err == nil: // without an error the handler panics
		return request.Failed, status
	}
	return request.ClientClosed, nil // a write has failed
}

// writeExpired answers a watch from before the history as the apiserver does: with a stream that
// contains only an ERROR event (wire.md 7.7).
func writeExpired(w http.ResponseWriter, p *plan.Plan, a *fresh.Attempt) {
	fresh.Head{Attempt: a, Plan: p}.Set(w.Header())
	p.Info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: string(outcome.VersionBeforeHistory),
		Format: p.Info.Outcome.Format, End: request.Expired}
	w.WriteHeader(http.StatusOK)
	expired := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", p.Version,
		p.Resource.Store.OldestVersion()))
	// An error means that the client has gone.
	_, _ = w.Write(p.Format.AppendErrorEvent(nil, &expired.ErrStatus))
}
