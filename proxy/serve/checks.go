package serve

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// checkLimit bounds one check of an open watch's access.
const checkLimit = 10 * time.Second

// checks find out beside a watch whether its caller may still see it: events
// must not wait for the upstream's answer.
type checks struct {
	access  Access
	r       *http.Request
	verdict chan verdict // of the check under way; nil if there is none

	running sync.WaitGroup
	cancel  context.CancelFunc // of the check under way
}

// verdict is the outcome of a check.
type verdict struct {
	holds bool
	err   error
}

// begin starts a check. There must be none under way.
func (c *checks) begin() {
	ctx, cancel := context.WithTimeout(c.r.Context(), checkLimit)
	outcome := make(chan verdict, 1)
	c.cancel, c.verdict = cancel, outcome
	c.running.Go(func() {
		defer cancel()
		holds, err := c.access.StillAllowed(c.r.WithContext(ctx))
		outcome <- verdict{holds, err}
	})
}

// end gives up a check that is under way and waits for that.
func (c *checks) end() {
	if c.cancel != nil {
		c.cancel()
	}
	c.running.Wait()
}
