package serve

import (
	"math/rand/v2"
	"time"
)

const (
	// bookmarkEvery and bookmarkBefore say when bookmarks are sent: every
	// minute, and before the end (wire.md 7.6).
	bookmarkEvery = time.Minute
	// bookmarkRetry is when it is tried again if there was nothing to tell:
	// on a quiet resource the upstream's own bookmark may be about to come.
	bookmarkRetry  = 10 * time.Second
	bookmarkBefore = 2 * time.Second
	// doubtfulFor is how long a watch goes on though its caller's access
	// cannot be checked, because the upstream does not answer.
	doubtfulFor = 2 * time.Minute
)

// clock tells when a watch has something to do though nothing has happened. It
// has one timer for all: each channel that a watch waits on costs every event.
type clock struct {
	timer                  *time.Timer
	end, bookmark, recheck time.Time // when each is due; zero for not at all

	every   time.Duration // between checks of the caller's access
	sure    time.Time     // when the access was last known to hold
	drained bool          // the end is due to the gateway's
}

func newClock(timeout, recheck time.Duration) *clock {
	now := time.Now()
	c := &clock{timer: time.NewTimer(timeout), end: now.Add(timeout), every: recheck, sure: now}
	c.recheck = now.Add(c.untilRecheck())
	c.nextBookmark(now, true)
	return c
}

// set sets the timer for what is due next.
func (c *clock) set() {
	next := c.end
	for _, t := range []time.Time{c.bookmark, c.recheck} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	c.timer.Reset(time.Until(next))
}

// due takes what is due now. The timer has to be set again.
func due(t *time.Time, now time.Time) bool {
	if t.IsZero() || t.After(now) {
		return false
	}
	*t = time.Time{}
	return true
}

func (c *clock) stop() { c.timer.Stop() }

// nextBookmark says when the next bookmark is due: in a minute, or soon if the
// last could not be told, or shortly before the end, whichever is sooner. There
// is none if that is past.
func (c *clock) nextBookmark(now time.Time, told bool) {
	every := bookmarkEvery
	if !told {
		every = bookmarkRetry
	}
	c.bookmark = time.Time{}
	if wait := min(every, c.end.Add(-bookmarkBefore).Sub(now)); wait > 0 {
		c.bookmark = now.Add(wait)
	}
	c.set()
}

// untilRecheck spreads the checks of watches that were opened together.
func (c *clock) untilRecheck() time.Duration {
	return c.every/2 + rand.N(c.every)
}

// allowed takes the result of a check and reports whether the watch goes on.
// Doubt is borne for a while: without the upstream there is no news either.
func (c *clock) allowed(holds bool, err error) bool {
	now := time.Now()
	if err == nil && holds {
		c.sure = now
	}
	if (err == nil && !holds) || now.Sub(c.sure) > doubtfulFor {
		return false
	}
	c.recheck = now.Add(c.untilRecheck())
	c.set()
	return true
}

// endWithin ends the watch at a random moment in the given time, so that not
// all clients come back at once.
func (c *clock) endWithin(grace time.Duration) {
	c.drained = true
	if end := time.Now().Add(rand.N(grace/2 + 1)); end.Before(c.end) {
		c.end = end
	}
	c.set()
}
