package serve

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/proxy/accounts"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/serve/plan"
)

// passBudget bounds what the reads that pass although the cache should show them cost the apiserver at the
// same time, as bytes of the stored objects that they are answered with. Three quarters are for
// everybody; system callers have the rest besides. Of either part the reads of one resource get half.
// Reads of a resource that wait get room in the order in which they came. One that waits for its store to
// recover is in no queue; a long one gets no room meanwhile: what passes one after the other would cost as
// much as what passes at once.
//
// A read that is larger than its part counts as all of it: it passes once nothing else does.
type passBudget struct {
	metrics *Metrics
	parts   [2]*flowcontrol.Queue // common and reserved; their places are bytes, their groups resources

	mu         sync.Mutex      // guards what follows, and the claims
	recovering map[waiters]int // claims that wait for their store
}

// waiters are those of one resource that are system callers, or are not.
type waiters struct {
	resource schema.GroupVersionResource
	system   bool
}

// Shares of the budget.
const (
	reservedShare = 4 // of the total, for system callers
	resourceShare = 2 // of either part, for one resource
)

// claim is what one read needs of the budget.
type claim struct {
	budget   *passBudget
	resource schema.GroupVersionResource
	bytes    int64
	system   bool
	recovers bool                // it waits for its store to recover, and takes no room unless there is some at once
	ticket   *flowcontrol.Ticket // nil while it is in no queue
	late     *time.Timer         // ends the claim of a response that takes long; only the request's goroutine uses it
}

func newPassBudget(total int64, m *Metrics) *passBudget {
	b := &passBudget{metrics: m, recovering: map[waiters]int{}}
	b.parts[0], b.parts[1] = flowcontrol.NewQueue(0), flowcontrol.NewQueue(0)
	b.setTotal(total)
	return b
}

// setTotal changes the total. Reads that pass go on.
func (b *passBudget) setTotal(bytes int64) {
	reserved := bytes / reservedShare
	b.parts[0].SetPlaces(bytes - reserved)
	b.parts[1].SetPlaces(reserved)
}

// claim asks for room for a read. The caller must call end, which may be done before there is room.
func (b *passBudget) claim(c claim) *claim {
	c.budget = b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.join(&c, c.bytes > plan.SmallBytes)
	if c.recovers = c.recovers && !c.hasRoom(); c.recovers {
		c.leave()
		b.recovering[waiters{c.resource, c.system}]++
	}
	b.measure()
	return &c
}

// hurry makes the claim wait for its store no longer, and reports whether there is room for it.
func (c *claim) hurry() bool {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	c.stopRecovering()
	if !c.hasRoom() {
		c.leave()
		b.join(c, false)
	}
	b.measure()
	return c.hasRoom()
}

// granted returns a channel that is closed when there is room; nil while the claim is in no queue.
func (c *claim) granted() <-chan struct{} {
	if c.ticket == nil {
		return nil
	}
	return c.ticket.Started()
}

// hasRoom reports whether there is room for the claim.
func (c *claim) hasRoom() bool { return c.ticket != nil && c.ticket.HasStarted() }

// begun takes note of the status of the response. It may be called for nil.
func (c *claim) begun(status int) {
	switch {
	case c == nil:
	case status >= http.StatusBadRequest:
		c.end()
	case status >= http.StatusOK:
		c.late = time.AfterFunc(claimFor, c.end)
	}
}

// end gives back what the claim has, or ends its wait. It may be called again, and for nil.
func (c *claim) end() {
	if c == nil {
		return
	}
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	c.stopRecovering()
	c.leave()
	c.budget.measure()
}

// fits reports whether there is room for a claim that is not made.
func (b *passBudget) fits(c claim) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.join(&c, c.bytes > plan.SmallBytes)
	defer c.leave()
	return c.hasRoom()
}

// join asks for room, a patient claim only where nobody of its resource waits for the store. A system caller takes what
// is free, and waits in the reserved part. The caller must hold mu, as for all below.
func (b *passBudget) join(c *claim, patient bool) {
	for i, q := range b.parts {
		reserved := i == 1
		waits := b.recovering[waiters{c.resource, true}]
		if !reserved {
			waits += b.recovering[waiters{c.resource, false}]
		}
		if reserved && !c.system || patient && waits > 0 {
			continue
		}
		c.leave()
		most := q.Places() / resourceShare
		if c.ticket = q.Join(accounts.Key{Group: c.resource.String()}, min(c.bytes, most), most); c.hasRoom() {
			return
		}
	}
}

func (c *claim) leave() {
	if c.ticket != nil {
		c.ticket.Leave()
	}
}

func (c *claim) stopRecovering() {
	if !c.recovers {
		return
	}
	c.recovers = false
	of := waiters{c.resource, c.system}
	if c.budget.recovering[of]--; c.budget.recovering[of] == 0 {
		delete(c.budget.recovering, of)
	}
}

// measure sets the metrics.
func (b *passBudget) measure() {
	for i, part := range []string{"common", "reserved"} {
		used, _ := b.parts[i].Numbers()
		b.metrics.passBytes.WithLabelValues(part).Set(float64(used))
	}
}
