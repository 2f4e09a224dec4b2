package serve

import (
	"cmp"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/proxy/serve/plan"
)

// passBudget bounds what the reads that pass although the cache should show them cost the apiserver at the
// same time, as bytes of the stored objects that they are answered with. Three quarters are for
// everybody; system callers have the rest besides. Of either part the reads of one resource get half.
// Callers whose reads wait get room in turn; a long read gets none while one before it waits
// for its store to recover instead: what passes one after the other would cost as much as what passes at once.
//
// A read that is larger than its part counts as all of it: it passes once nothing else does.
type passBudget struct {
	metrics *Metrics

	mu      sync.Mutex // guards what follows
	total   int64
	used    map[account]int64
	waiting []*claim
	turn    uint64            // counts what was granted
	turns   map[string]uint64 // by caller, when it was last granted something; empty while nothing passes
}

// account is a part of the budget that claims are charged to.
type account struct {
	reserved bool                        // for system callers
	resource schema.GroupVersionResource // empty for all resources together
}

// Shares of the budget.
const (
	reservedShare = 4 // of the total, for system callers
	resourceShare = 2 // of either part, for one resource
)

// mostTurns is of how many callers it is known when they had their last turn.
const mostTurns = 1 << 12

// claim is what one read needs of the budget.
type claim struct {
	budget   *passBudget
	resource schema.GroupVersionResource
	bytes    int64
	caller   string // the group of its account
	system   bool
	recovers bool          // it waits for its store to recover, and takes no room unless there is some at once
	granted  chan struct{} // closed when there is room for it

	account account // that it is charged to, once it is granted
	charged int64
	ended   bool        // budget.mu guards it and the two before
	late    *time.Timer // ends the claim of a response that takes long; only the request's goroutine uses it
}

func newPassBudget(total int64, m *Metrics) *passBudget {
	return &passBudget{total: total, metrics: m, used: map[account]int64{}, turns: map[string]uint64{}}
}

// setTotal changes the total. Reads that pass go on.
func (b *passBudget) setTotal(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = bytes
	b.grantWaiting()
}

// claim asks for room for a read. The caller must call end, which may be done before the claim is granted.
func (b *passBudget) claim(c claim) *claim {
	c.budget, c.granted = b, make(chan struct{})
	recovers := c.recovers
	c.recovers = false
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, &c)
	b.grantWaiting()
	c.recovers = recovers
	return &c
}

// hurry makes the claim wait for its store no longer, and reports whether there is room for it.
func (c *claim) hurry() bool {
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	c.recovers = false
	c.budget.grantWaiting()
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
		c.late = time.AfterFunc(claimFor, c.end)
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
	if c.ended {
		return
	}
	c.ended = true
	if i := slices.Index(b.waiting, c); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	} else {
		b.charge(c, -c.charged)
	}
	b.grantWaiting()
}

// grantWaiting grants the claims that fit, none before one of the same account whose caller has waited longer for a
// grant. The caller must hold mu.
func (b *passBudget) grantWaiting() {
	full, recovering := map[account]bool{}, map[account]bool{}
	slices.SortStableFunc(b.waiting, func(c, d *claim) int { return cmp.Compare(b.turns[c.caller], b.turns[d.caller]) })
	b.waiting = slices.DeleteFunc(b.waiting, func(c *claim) bool {
		for _, a := range c.accounts() {
			switch {
			case c.recovers:
				recovering[a] = true
			case full[a], recovering[a] && c.bytes > plan.SmallBytes:
			case b.grant(c, a):
				return true
			default:
				full[a] = true
			}
		}
		return false
	})
	if len(b.waiting) == 0 && len(b.used) == 0 || len(b.turns) > mostTurns {
		clear(b.turns)
	}
	b.metrics.passWaiting.Set(float64(len(b.waiting)))
}

// accounts returns the accounts that the claim may be charged to, the first one preferably.
func (c *claim) accounts() []account {
	all := []account{{false, c.resource}, {true, c.resource}}
	if !c.system {
		return all[:1]
	}
	return all
}

// grant grants the claim if it fits into an account. The caller must hold mu.
func (b *passBudget) grant(c *claim, a account) bool {
	bytes, fits := b.fits(c, a)
	if !fits {
		return false
	}
	c.account, c.charged = a, bytes
	b.turn++
	b.turns[c.caller] = b.turn
	b.charge(c, bytes)
	close(c.granted)
	return true
}

// fits returns what the claim counts in an account, and whether there is room. The caller must hold mu.
func (b *passBudget) fits(c *claim, a account) (bytes int64, fits bool) {
	part := b.total / reservedShare
	if !a.reserved {
		part = b.total - part
	}
	most := part / resourceShare
	bytes = min(c.bytes, most)
	return bytes, b.used[a]+bytes <= most && b.used[account{reserved: a.reserved}]+bytes <= part
}

// hasRoom reports whether there is room for a claim that is not made.
func (b *passBudget) hasRoom(c *claim) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) == 0 && slices.ContainsFunc(c.accounts(), func(a account) bool { _, fits := b.fits(c, a); return fits })
}

// charge adds bytes to what is used for a claim. The caller must hold mu.
func (b *passBudget) charge(c *claim, bytes int64) {
	all := account{reserved: c.account.reserved}
	for _, a := range []account{c.account, all} {
		if b.used[a] += bytes; b.used[a] == 0 {
			delete(b.used, a)
		}
	}
	b.metrics.passBytes.WithLabelValues(partName(all.reserved)).Set(float64(b.used[all]))
}

func partName(reserved bool) string {
	if reserved {
		return "reserved"
	}
	return "common"
}
