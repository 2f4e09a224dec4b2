package watch

import (
	"math/rand/v2"
	"time"
)

const (
	// Shortest is the age below which no watch is ended by choice: client-go takes a watch that
	// ends without an event within a second for a failure, and lists again.
	Shortest = time.Second
	// bookmarkEvery and bookmarkBefore are the times of bookmarks: every minute, and before the end of
	// the watch (wire.md 7.6).
	bookmarkEvery  = time.Minute
	bookmarkBefore = 2 * time.Second
	// bookmarkRetry is the time until the next attempt if there was no new version to send: on a quiet
	// resource the bookmark of the apiserver may be about to arrive.
	bookmarkRetry = 10 * time.Second
)

// wake makes a watch look at everything but events. One channel serves the timer, the end of the
// request and the rechecks, because every channel in the select of a watch, a timer's most of all, costs time
// at each event.
type wake chan struct{}

func newWake() wake { return make(wake, 1) }

// signal makes the watch look at all changes before the call.
func (a wake) signal() {
	select {
	case a <- struct{}{}:
	default:
	}
}

// timer wakes a watch when the next thing is due.
type timer struct {
	*time.Timer
	opened        time.Time
	end, bookmark time.Time // when each is due; zero for never
	drained       bool      // the watch ends because the gateway drains
}

func newTimer(lifetime time.Duration, w wake) *timer {
	now := time.Now()
	t := &timer{Timer: time.AfterFunc(lifetime, w.signal), opened: now, end: now.Add(lifetime)}
	t.scheduleBookmark(now, true)
	return t
}

// reset sets the timer to the next action.
func (t *timer) reset() {
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
func (t *timer) scheduleBookmark(now time.Time, sent bool) {
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
// and not before it is as old as Shortest.
func (t *timer) endWithin(spread time.Duration) {
	t.drained = true
	end := time.Now().Add(rand.N(spread + 1))
	if soonest := t.opened.Add(Shortest); end.Before(soonest) {
		end = soonest
	}
	if end.Before(t.end) {
		t.end = end
	}
	t.reset()
}
