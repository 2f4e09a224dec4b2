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

// clock holds the timers of one watch.
type clock struct {
	end, bookmark, recheck *time.Timer

	deadline time.Time
	every    time.Duration // between checks of the caller's access
	sure     time.Time     // when the access was last known to hold
	drained  bool          // the end is due to the gateway's
}

func newClock(timeout, recheck time.Duration) *clock {
	now := time.Now()
	c := &clock{deadline: now.Add(timeout), every: recheck, sure: now}
	c.end = time.NewTimer(timeout)
	c.bookmark = time.NewTimer(0)
	c.nextBookmark(now, true)
	c.recheck = time.NewTimer(c.untilRecheck())
	return c
}

func (c *clock) stop() {
	c.end.Stop()
	c.bookmark.Stop()
	c.recheck.Stop()
}

// nextBookmark sets the timer of the next bookmark: in a minute, or soon if
// the last could not be told, or shortly before the end, whichever is sooner.
// There is none if that is past.
func (c *clock) nextBookmark(now time.Time, told bool) {
	every := bookmarkEvery
	if !told {
		every = bookmarkRetry
	}
	wait := min(every, c.deadline.Add(-bookmarkBefore).Sub(now))
	if wait <= 0 {
		c.bookmark.Stop()
		return
	}
	c.bookmark.Reset(wait)
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
	c.recheck.Reset(c.untilRecheck())
	return true
}

// endWithin ends the watch at a random moment in the given time, so that not
// all clients come back at once.
func (c *clock) endWithin(grace time.Duration) {
	c.drained = true
	c.end.Reset(rand.N(grace/2 + 1))
}
