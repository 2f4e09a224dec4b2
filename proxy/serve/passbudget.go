package serve

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
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

	mu      sync.Mutex // guards what follows, and what claims say that it guards
	total   int64
	used    map[account]int64
	waiting int // claims that wait
	lines   map[schema.GroupVersionResource]*line
	arrived uint64 // counts claims
}

// part is a part of the budget.
type part uint8

const (
	common   part = iota
	reserved      // for system callers
	parts
)

// String returns the value of the label of the metrics.
func (p part) String() string { return [parts]string{"common", "reserved"}[p] }

// account is what claims are charged to.
type account struct {
	part
	resource schema.GroupVersionResource // empty for all resources together
}

// Shares of the budget.
const (
	reservedShare = 4 // of the total, for system callers
	resourceShare = 2 // of either part, for one resource
)

func newPassBudget(total int64, m *Metrics) *passBudget {
	return &passBudget{
		total: total, metrics: m, used: map[account]int64{},
		lines: map[schema.GroupVersionResource]*line{},
	}
}

// setTotal changes the total. Reads that pass go on.
func (b *passBudget) setTotal(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = bytes
	b.grantAll()
}

// claim asks for room for a read. The caller must call end, which may be done before the claim is granted.
func (b *passBudget) claim(c claim) *claim {
	c.budget, c.granted = b, make(chan struct{})
	recovers := c.recovers
	c.recovers = false // it takes what is free
	b.mu.Lock()
	defer b.mu.Unlock()
	b.enter(&c)
	if b.grantIn(c.resource); recovers && !c.hasRoom() {
		b.lines[c.resource].recover(&c, true)
	}
	return &c
}

// enter puts a claim into its line. The caller must hold mu.
func (b *passBudget) enter(c *claim) {
	l := b.lines[c.resource]
	if l == nil {
		l = newLine()
		b.lines[c.resource] = l
	}
	b.arrived++
	c.arrived = b.arrived
	l.enter(c)
	b.wait(1)
}

// wait counts a claim that waits, or one that waits no longer. The caller must hold mu.
func (b *passBudget) wait(n int) {
	b.waiting += n
	b.metrics.passWaiting.Set(float64(b.waiting))
}

// grantIn grants the claims of a line that fit, none before one of the same account whose turn is earlier.
// The caller must hold mu.
func (b *passBudget) grantIn(resource schema.GroupVersionResource) {
	l := b.lines[resource]
	var full [parts]bool // one that does not fit waits for it
	for c, of := l.next(&full); c != nil; c, of = l.next(&full) {
		full[of] = !b.grant(c, of)
	}
	if l.forget(); l.waiting == 0 && b.used[account{common, resource}] == 0 && b.used[account{reserved, resource}] == 0 {
		delete(b.lines, resource)
	}
}

// grantAll is grantIn for all lines. The caller must hold mu.
func (b *passBudget) grantAll() {
	for resource := range b.lines {
		b.grantIn(resource)
	}
}

// grant grants the claim if it fits into a part. The caller must hold mu.
func (b *passBudget) grant(c *claim, of part) bool {
	bytes, fits := b.fits(c, of)
	if !fits {
		return false
	}
	b.lines[c.resource].granted(c)
	b.wait(-1)
	c.account, c.charged = account{of, c.resource}, bytes
	b.charge(c, bytes)
	close(c.granted)
	return true
}

// fits returns what the claim counts in a part, and whether there is room. The caller must hold mu.
func (b *passBudget) fits(c *claim, of part) (bytes int64, fits bool) {
	size := b.total / reservedShare
	if of == common {
		size = b.total - size
	}
	most := size / resourceShare
	bytes = min(c.bytes, most)
	return bytes, b.used[account{of, c.resource}]+bytes <= most && b.used[account{part: of}]+bytes <= size
}

// charge adds bytes to what is used for a claim. The caller must hold mu.
func (b *passBudget) charge(c *claim, bytes int64) {
	all := account{part: c.account.part}
	for _, a := range []account{c.account, all} {
		if b.used[a] += bytes; b.used[a] == 0 {
			delete(b.used, a)
		}
	}
	b.metrics.passBytes.WithLabelValues(all.String()).Set(float64(b.used[all]))
}
