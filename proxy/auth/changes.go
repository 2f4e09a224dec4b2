package auth

import (
	"sync"
	"time"
)

const (
	// settleTime is how long after a change of an RBAC object its effect on reviews is certain: the
	// authorizer of the apiserver has a watch of its own, which may be behind that of Sluice.
	settleTime = time.Second
	// recentChange is how long after a change a new listener is called for it: the access of a watch is
	// reviewed some seconds before it listens.
	recentChange = 10 * time.Second
	// maxChangedNamespaces bounds the namespaces whose changes are counted apart.
	maxChangedNamespaces = 10000
)

// everyNamespace is the namespace of a change that can affect access to everything.
const everyNamespace = ""

// changes counts the changes of access rules. The count is part of what identifies a review, so that a
// change invalidates all earlier results, those of running reviews included.
//
// A change counts at once, and again settleTime later. Changes in between count then, and again
// settleTime later, so that constant change costs at most two reviews per access and settleTime.
type changes struct {
	metrics *Metrics

	mu         sync.Mutex // guards what follows
	total      uint64
	everywhere uint64
	namespaces map[string]uint64
	pending    map[string]bool // the second counts; true if there was a change since the first
	listeners  map[*listener]struct{}
	last       time.Time // when the last change was certain to have its effect
}

// listener is called after a change that can affect access to a namespace, or to any if all is set,
// once its effect is certain.
type listener struct {
	namespace string
	all       bool
	f         func()
}

func newChanges(m *Metrics) *changes {
	return &changes{metrics: m, namespaces: map[string]uint64{}, pending: map[string]bool{}, listeners: map[*listener]struct{}{}}
}

// count returns a number that changes whenever access to a namespace, or to all, may change.
func (c *changes) count(namespace string) (everywhere, inNamespace uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.everywhere, c.namespaces[namespace]
}

// all returns the number of all changes.
func (c *changes) all() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// happened records a change in a namespace, or in everyNamespace.
func (c *changes) happened(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, pending := c.pending[namespace]; pending {
		c.pending[namespace] = true
		return
	}
	c.add(namespace)
	c.settle(namespace)
}

// settle starts the time until a second count. The caller must hold mu.
func (c *changes) settle(namespace string) {
	c.pending[namespace] = false
	time.AfterFunc(settleTime, func() { c.settled(namespace) })
}

func (c *changes) settled(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	repeated := c.pending[namespace]
	delete(c.pending, namespace)
	c.add(namespace)
	if repeated {
		c.settle(namespace)
	}
	c.last = time.Now()
	for l := range c.listeners {
		if namespace == everyNamespace || l.all || namespace == l.namespace {
			l.f()
		}
	}
}

// add counts a change. The caller must hold mu.
func (c *changes) add(namespace string) {
	c.metrics.changes.Inc()
	c.total++
	if namespace != everyNamespace && len(c.namespaces) < maxChangedNamespaces {
		c.namespaces[namespace]++
		return
	}
	c.everywhere++
	clear(c.namespaces) // the count of changes everywhere tells new results from old ones
}

// notify calls f after each change that can affect access to a namespace, or to any if all is set,
// until stop is called. It calls f at once if there was a recent change, of whatever namespace.
func (c *changes) notify(namespace string, all bool, f func()) (stop func()) {
	l := &listener{namespace, all, f}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[l] = struct{}{}
	if !c.last.IsZero() && time.Since(c.last) < recentChange {
		f()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, l)
	}
}
