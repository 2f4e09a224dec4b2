package auth

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// settleTime is how long after a change of an RBAC object its effect on reviews is certain: the
	// authorizer of the apiserver has a watch of its own, which may be behind that of Sluice.
	settleTime = time.Second
	// longestPace is the most time between two counts while RBAC objects change all the time.
	longestPace = 10 * time.Second
	// recentChange is how long after a change a new listener is called for it: the access of a watch is
	// reviewed some seconds before it listens.
	recentChange = 10 * time.Second
)

// Follower calls changed for each object of a resource, once it is known and whenever it may have changed, until ctx ends: with
// its key and, of a RoleBinding, the whole object in JSON, nil if it is deleted. It calls read once all objects are known.
type Follower func(ctx context.Context, resource schema.GroupVersionResource, changed func(key string, object []byte), read func())

// changes counts the changes of access rules. The count is part of the key of a review, so that a change invalidates all
// earlier results, those of running reviews included.
//
// A change counts at once, and again settleTime later. After a recent one it counts later only, the more so the longer
// changes go on: constant change costs one review per access and longestPace.
type changes struct {
	metrics  *Metrics
	bindings *bindings // as they are when a change counts

	mu        sync.Mutex // guards the fields below
	count     uint64
	counted   time.Time     // when count was last raised
	last      time.Time     // the last change
	pending   bool          // count will be raised
	pace      time.Duration // the time until then
	listeners map[*func()]struct{}
}

func newChanges(m *Metrics) *changes {
	return &changes{metrics: m, bindings: newBindings(m), listeners: map[*func()]struct{}{}}
}

// follow counts the changes of RBAC objects until ctx ends.
func (c *changes) follow(ctx context.Context, follow Follower) {
	var running sync.WaitGroup
	for _, resource := range []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"} {
		gvr := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
		changed, read := func(string, []byte) {}, func() {}
		if resource == "rolebindings" {
			changed, read = c.bindings.changed, c.bindings.read
		}
		running.Go(func() {
			follow(ctx, gvr, func(key string, object []byte) {
				changed(key, object)
				c.happened()
			}, read)
		})
	}
	running.Wait()
}

// now returns the present count.
func (c *changes) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// happened records a change.
func (c *changes) happened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
	if c.pending {
		return
	}
	if c.counted.IsZero() || c.last.Sub(c.counted) >= longestPace {
		c.pace = settleTime
		c.raise()
	} else {
		c.pace = min(2*c.pace, longestPace)
	}
	c.wait()
}

// raise counts the changes until now. The caller must hold mu.
func (c *changes) raise() {
	c.count++
	c.counted = time.Now()
	c.metrics.changes.Inc()
}

// wait has the changes counted after the present pace. The caller must hold mu.
func (c *changes) wait() {
	c.pending = true
	time.AfterFunc(c.pace, c.settle)
}

// settle counts the changes until now, and once more later if the effect of the last one is not certain yet.
func (c *changes) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raise()
	for f := range c.listeners {
		(*f)()
	}
	if c.pending = c.counted.Sub(c.last) < settleTime; c.pending {
		c.pace = min(2*c.pace, longestPace)
		c.wait()
	}
}

// notify calls f after changes until stop is called, and at once if there was a recent one.
func (c *changes) notify(f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[&f] = struct{}{}
	if !c.counted.IsZero() && time.Since(c.counted) < recentChange {
		f()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, &f)
	}
}
