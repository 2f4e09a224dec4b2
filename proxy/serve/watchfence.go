package serve

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache"
)

// fenceResult is a version that was current after the watch began, and that the store shows.
type fenceResult struct {
	version uint64
	proof   cache.Proof
	err     error
}

// fenceWait proves the initial events of a watch recent while they are written.
type fenceWait struct {
	result <-chan fenceResult // nil while nothing is waited for
	limit  time.Time
	stop   func() // ends the wait
}

// awaitFence begins to wait for the proof that the initial events need, if they need one. A probe watch
// of another Sluice waits for a proof too.
func (l *watchLoop) awaitFence(ctx context.Context) {
	l.fence.stop = func() {}
	history := l.probes()
	if l.initialEventsEnd != unproven && !history {
		return
	}
	if l.fence.limit.IsZero() {
		l.fence.limit = time.Now().Add(proofLimit)
	}
	ctx, cancel := context.WithDeadline(ctx, l.fence.limit)
	result, ended := make(chan fenceResult, 1), make(chan struct{})
	go func() {
		defer close(ended)
		result <- l.waitForFence(ctx, history)
	}()
	l.fence.result = result
	l.fence.stop = func() { cancel(); <-ended }
}

// waitForFence waits until the store shows a version that is current now, and with history has every
// event up to it.
func (l *watchLoop) waitForFence(ctx context.Context, history bool) (r fenceResult) {
	fence := l.plan.resource.Fence
	if !history {
		r.version, r.proof, r.err = fence.WaitUntilCurrent(ctx)
		return r
	}
	if r.version, r.err = fence.CurrentVersion(ctx); r.err == nil {
		r.err = fence.ConfirmHistory(ctx, r.version)
	}
	return r
}

// probeWatchLife is the longest life of a watch that is taken for a probe watch. It is too short for
// anything else than to receive a bookmark.
const probeWatchLife = 3 * time.Second

// probes reports whether the watch is there to receive a bookmark soon.
func (l *watchLoop) probes() bool {
	o := &l.plan.options
	return l.initialEventsEnd == 0 && o.AllowBookmarks && o.Timeout > 0 && o.Timeout <= probeWatchLife
}

// fenced takes the result of the fence, and reports whether the watch goes on. Without a proof in time
// the initial events end with an error, as at the apiserver: the client then lists.
func (l *watchLoop) fenced(r fenceResult) bool {
	l.fence.stop()
	l.fence.result, l.fence.stop = nil, func() {}
	if l.initialEventsEnd == 0 {
		return l.sendBookmark() == nil
	}
	if r.err == nil {
		l.options.Metrics.proven(r.proof.String())
		l.initialEventsEnd = r.version
		return true
	}
	if !errors.Is(r.err, cache.ErrClosed) && l.r.Context().Err() == nil {
		l.options.Metrics.proven(string(notProvenInTime))
		l.writeError(apierrors.NewTimeoutError("the initial events could not be proven to be recent in time", 1))
	}
	return false
}

// writeError writes an ERROR event, before the watch ends.
func (l *watchLoop) writeError(err *apierrors.StatusError) {
	l.buf = l.plan.encoder.AppendErrorEvent(l.buf[:0], &err.ErrStatus)
	if l.out.write(l.buf) == nil {
		_ = l.out.flush() // an error means that the client has gone
	}
}

// initialEventsProven reports whether the initial events have ended: everything up to a version that is
// proven recent has been delivered, or the delivered state is the one that a roll call has confirmed.
func (l *watchLoop) initialEventsProven() bool {
	if l.initialEventsEnd == unproven {
		return false
	}
	if l.delivered < l.initialEventsEnd {
		l.delivered = max(l.delivered, l.cursor.SkipToConfirmed())
	}
	return l.delivered >= l.initialEventsEnd
}

// restartFence waits for another proof if the state that was confirmed is not the one that this watch
// has delivered, because late events have followed.
func (l *watchLoop) restartFence(ctx context.Context) {
	if l.initialEventsEnd == 0 || l.fence.result != nil {
		return
	}
	l.initialEventsEnd = unproven
	l.awaitFence(ctx)
}
