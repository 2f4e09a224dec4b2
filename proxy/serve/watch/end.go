package watch

import (
	"errors"
	"fmt"
	"net/http"

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

// errToldToEnd ends a watch that was told to end: its access has been revoked, or it is read too slowly.
var errToldToEnd = errors.New("told to end")

// errTooSlow ends a watch that holds too much memory. The client must list again: events that it has not read are
// gone.
var errTooSlow = apierrors.NewResourceExpired(message.TooSlow.Say())

// end ends the stream and the goroutines beside the loop, and releases the memory of the watch.
func (l *loop) end() {
	l.out.end()
	l.proof.Stop()
	l.endTracking()
	l.recheck.stop()
	l.timer.Stop()
	l.ignoreContext()
	l.out.work.Rest()
	l.metrics.closed()
	l.plan.Info.Watch.Follow(nil)
	l.cursor.Close()
	l.plan.Info.Outcome.End = l.ended
}

// endAs keeps how the watch ends, unless that is known already. It returns false, as each function that ends the loop.
func (l *loop) endAs(how request.WatchEnd) bool {
	if l.ended == "" {
		l.ended = how
	}
	return false
}

// endOf returns how a watch ends because of an error.
func (l *loop) endOf(err error) request.WatchEnd {
	_, refused := errors.AsType[*limits.Refused](err)
	switch denied := l.recheck.denied.Load(); {
	case denied == errTooSlow, denied == nil && l.out.client.Stalled():
		return request.ClientStalled
	case denied != nil && apierrors.IsServiceUnavailable(denied):
		return request.APIServerAway
	case denied != nil:
		return request.Revoked
	case errors.Is(err, cache.ErrGone):
		return request.Expired
	case errors.Is(err, cache.ErrClosed), errors.Is(err, cache.ErrDiverged):
		return request.StoreRebuilt
	case refused, errors.Is(err, encode.ErrUnencodable):
		return request.Failed
	}
	return request.ClientClosed // a write has failed
}

func (l *loop) endTracking() {
	l.hold.Release()
	if l.hold.Revoked() {
		l.plan.Info.Outcome.Reason = limits.TooMuch
	}
}

// endWith writes an ERROR event that says why the watch ends, if it was told to end, err is ErrUnencodable, or there is no
// memory for its initial events. Clients resume after a 429 from their last version, and one that cannot be encoded passes.
func (l *loop) endWith(err error) {
	l.endAs(l.endOf(err))
	var status *apierrors.StatusError
	refused, tooMuch := errors.AsType[*limits.Refused](err)
	switch {
	case tooMuch:
		status = &apierrors.StatusError{ErrStatus: refused.Status()}
	case errors.Is(err, errToldToEnd):
		status = l.recheck.denied.Load()
	case errors.Is(err, encode.ErrUnencodable):
		status = apierrors.NewTooManyRequests(message.Unwritable.Say(), response.RetryAfter)
	default:
		return
	}
	l.writeError(status)
}

// writeExpired answers a watch from before the history as the apiserver does: with a stream that
// contains only an ERROR event (wire.md 7.7).
func writeExpired(w http.ResponseWriter, p *plan.Plan, a *fresh.Attempt) {
	a.Head(w.Header(), p, "", 0)
	p.Info.Outcome = request.Outcome{Source: request.SourceGateway, Reason: string(outcome.VersionBeforeHistory),
		Format: p.Info.Outcome.Format, End: request.Expired}
	w.WriteHeader(http.StatusOK)
	expired := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", p.Version,
		p.Resource.Store.OldestVersion()))
	// An error means that the client has gone.
	_, _ = w.Write(p.Format.AppendErrorEvent(nil, &expired.ErrStatus))
}
