package serve

import (
	"container/list"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/proxy/serve/plan"
)

// claim is what one read needs of the budget.
type claim struct {
	budget   *passBudget
	resource schema.GroupVersionResource
	bytes    int64
	caller   string // the group of its account
	system   bool
	recovers bool          // it waits for its store to recover, and takes no room unless there is some at once
	granted  chan struct{} // closed when there is room for it

	arrived uint64        // its order among those of its caller; budget.mu guards it and what follows
	flow    *flow         // once it waits
	place   *list.Element // in flow.claims
	account account       // that it is charged to, once it is granted
	charged int64
	ended   bool
	late    *time.Timer // ends the claim of a response that takes long
}

// hurry makes the claim wait for its store no longer, and reports whether there is room for it.
func (c *claim) hurry() bool {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.recovers && !c.hasRoom() {
		b.lines[c.resource].recover(c, false)
		b.grantIn(c.resource)
	}
	return c.hasRoom()
}

// hasRoom reports whether the claim is granted.
func (c *claim) hasRoom() bool {
	select {
	case <-c.granted:
		return true
	default:
		return false
	}
}

// begun takes note of the status of the response. It may be called for nil.
func (c *claim) begun(status int) {
	switch {
	case c == nil:
	case status >= http.StatusBadRequest:
		c.end()
	case status >= http.StatusOK, status == http.StatusSwitchingProtocols:
		c.budget.mu.Lock()
		defer c.budget.mu.Unlock()
		if !c.ended {
			c.late = time.AfterFunc(claimFor, c.end)
		}
	}
}

// end gives back what the claim has, or ends its wait. It may be called again, and for nil.
func (c *claim) end() {
	if c == nil {
		return
	}
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case c.ended:
	case c.hasRoom():
		b.charge(c, -c.charged)
		b.grantAll()
	default:
		b.lines[c.resource].leave(c)
		b.wait(-1)
		b.grantIn(c.resource) // it may have kept others waiting
	}
	c.ended = true
	if c.late != nil {
		c.late.Stop()
	}
}

// last returns the last part that the claim may be charged to, after those before it.
func (c *claim) last() part {
	if c.system {
		return reserved
	}
	return common
}

// kind returns what the claim waits for.
func (c *claim) kind() kind {
	switch {
	case c.recovers:
		return recovering
	case c.bytes > plan.SmallBytes:
		return long
	}
	return short
}
