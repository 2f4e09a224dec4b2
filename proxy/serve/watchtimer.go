package serve

import (
	"math/rand/v2"
	"time"
)

const (
	// bookmarkEvery and bookmarkBefore are the times of bookmarks: every minute, and before the end of
	// the watch (wire.md 7.6).
	bookmarkEvery  = time.Minute
	bookmarkBefore = 2 * time.Second
	// bookmarkRetry is the time until the next attempt if there was no new version to send: on a quiet
	// resource the bookmark of the apiserver may be about to arrive.
	bookmarkRetry = 10 * time.Second
)

// watchTimer tells a watch when the next thing is due. One timer serves all of them, because every
// channel in the select of a watch costs time at each event.
type watchTimer struct {
	*time.Timer
	end, bookmark time.Time // when each is due; zero for never
	drained       bool      // the watch ends because the gateway drains
}

func newWatchTimer(lifetime time.Duration) *watchTimer {
	now := time.Now()
	t := &watchTimer{Timer: time.NewTimer(lifetime), end: now.Add(lifetime)}
	t.scheduleBookmark(now, true)
	return t
}

// reset sets the timer to what is due next.
func (t *watchTimer) reset() {
	next := t.end
	if !t.bookmark.IsZero() && t.bookmark.Before(next) {
		next = t.bookmark
	}
	t.Reset(time.Until(next))
}

// due reports whether at has come, and clears it. The timer has to be reset afterwards.
func due(at *time.Time, now time.Time) bool {
	if at.IsZero() || at.After(now) {
		return false
	}
	*at = time.Time{}
	return true
}

// scheduleBookmark schedules the next bookmark: in a minute, or soon if the last one was not sent, or
// shortly before the end, whichever comes first; never if that has passed.
func (t *watchTimer) scheduleBookmark(now time.Time, sent bool) {
	every := bookmarkEvery
	if !sent {
		every = bookmarkRetry
	}
	t.bookmark = time.Time{}
	if wait := min(every, t.end.Add(-bookmarkBefore).Sub(now)); wait > 0 {
		t.bookmark = now.Add(wait)
	}
	t.reset()
}

// endWithin ends the watch at a random time within half of grace, so that not all clients come back
// at once.
func (t *watchTimer) endWithin(grace time.Duration) {
	t.drained = true
	if end := time.Now().Add(rand.N(grace/2 + 1)); end.Before(t.end) {
		t.end = end
	}
	t.reset()
}
