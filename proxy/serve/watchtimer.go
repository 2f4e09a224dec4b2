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

// attention makes a watch look at everything but events. One channel serves the timer, the end of the
// request and the rechecks, because every channel in the select of a watch, a timer's most of all, costs time
// at each event.
type attention chan struct{}

func newAttention() attention { return make(attention, 1) }

// call makes the watch look at what happened before the call.
func (a attention) call() {
	select {
	case a <- struct{}{}:
	default:
	}
}

// watchTimer calls the attention of a watch when the next thing is due.
type watchTimer struct {
	*time.Timer
	opened        time.Time
	end, bookmark time.Time // when each is due; zero for never
	drained       bool      // the watch ends because the gateway drains
}

func newWatchTimer(lifetime time.Duration, attention attention) *watchTimer {
	now := time.Now()
	t := &watchTimer{Timer: time.AfterFunc(lifetime, attention.call), opened: now, end: now.Add(lifetime)}
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

// endWithin ends the watch at a random time within spread, so that not all clients come back at once,
// and not before it is as old as shortestWatch.
func (t *watchTimer) endWithin(spread time.Duration) {
	t.drained = true
	end := time.Now().Add(rand.N(spread + 1))
	if soonest := t.opened.Add(shortestWatch); end.Before(soonest) {
		end = soonest
	}
	if end.Before(t.end) {
		t.end = end
	}
	t.reset()
}
