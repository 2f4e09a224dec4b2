package serve

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/message"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
)

// errToldToEnd ends a watch that was told to end: its access has been revoked, or it is read too slowly.
var errToldToEnd = errors.New("told to end")

// errTooSlow ends a watch that holds too much memory. The client must list again: what it has not read is
// gone.
var errTooSlow = apierrors.NewResourceExpired(message.TooSlow.Say())

// end ends the stream and what runs beside the loop, and gives back what the watch has taken.
func (l *watchLoop) end() {
	l.out.end()
	l.fence.stop()
	l.endTracking()
	l.recheck.stop()
	l.timer.Stop()
	l.ignoreContext()
	l.out.work.Rest()
	l.metrics.closed()
	l.cursor.Close()
}

func (l *watchLoop) endTracking() {
	l.reader.Done()
	if l.reader.Ended() {
		l.plan.info.Outcome.Reason = flowcontrol.TooSlow
	}
}

// endWith writes an ERROR event that says why the watch ends, if it was told to end or err is ErrUnencodable.
// Clients resume after a 429 from their last version, and the watch then passes.
func (l *watchLoop) endWith(err error) {
	var status *apierrors.StatusError
	switch {
	case errors.Is(err, errToldToEnd):
		status = l.recheck.denied.Load()
	case errors.Is(err, encode.ErrUnencodable):
		status = apierrors.NewTooManyRequests(message.Unwritable.Say(), response.RetryAfter)
	default:
		return
	}
	l.writeError(status)
}
