package auth

import (
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	// settleTime is how long after a change of an RBAC object its effect on reviews is certain: the
	// authorizer of the apiserver has a watch of its own, which may be behind that of Sluice.
	settleTime = time.Second
	// recentChange is how long after a change a new listener is called for it: the access of a watch is
	// reviewed some seconds before it listens.
	recentChange = 10 * time.Second
	// maxSubjects bounds the subjects whose changes are counted apart in a namespace, and maxCounts these counts in all
	// namespaces together.
	maxSubjects = 1000
	maxCounts   = 20000
)

// everyNamespace is the namespace of a change that can affect access to everything.
const everyNamespace = ""

// subject is a user, by name, or a group.
type subject struct {
	group bool
	name  string
}

var (
	// everybody is the subject of a change that can affect all users.
	everybody = subject{}
	// somebody is the subject of which every change is: no group is without a name.
	somebody = subject{group: true}
)

// userNamed returns the subject for a user name.
func userNamed(name string) subject { return subject{name: keptName(name)} }

// groupNamed returns the subject for a group name.
func groupNamed(name string) subject { return subject{group: true, name: keptName(name)} }

// subjects calls f with the subjects of bindings that a user matches, until f returns false.
func subjects(name string, groups []string) func(f func(subject) bool) {
	return func(f func(subject) bool) {
		if !f(userNamed(name)) {
			return
		}
		for _, g := range groups {
			if !f(groupNamed(g)) {
				return
			}
		}
	}
}

// scope is the reach of a change: access of a subject to a namespace, or to everything.
type scope struct {
	namespace string
	subject   subject
}

// changes counts the changes of access rules. The counts are part of the key of a review, so that a
// change invalidates all earlier results that it can affect, those of running reviews included.
//
// A change counts at once, and again settleTime later. Changes in between count then, and again
// settleTime later, so that constant change costs at most two reviews per access and settleTime.
type changes struct {
	metrics *Metrics

	mu         sync.Mutex        // guards the fields below
	everything uint64            // which counts for everybody; and how often the other counts began anew
	namespaces map[string]*count // those of everyNamespace too
	counts     int               // subjects in all of them
	pending    map[scope]bool    // the second counts; true if there was a change since the first
	listeners  map[subject]map[*listener]struct{}
	last       time.Time // when the last change was certain to have its effect
}

// count is the changes in one namespace.
type count struct {
	everybody uint64
	subjects  map[subject]uint64
}

// stamp changes whenever access of a user to a namespace, or to everything, may change.
type stamp [5]uint64

// listener is called after a change that can affect access of a user to a namespace, or after any if user is nil,
// once its effect is certain.
type listener struct {
	namespace string
	user      user.Info
	f         func()
}

func newChanges(m *Metrics) *changes {
	return &changes{
		metrics: m, namespaces: map[string]*count{}, pending: map[scope]bool{}, listeners: map[subject]map[*listener]struct{}{},
	}
}

// stamp returns the present stamp of access of a user to a namespace.
func (c *changes) stamp(namespace, name string, groups []string) (s stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s[0] = c.everything
	s[1], s[2] = c.namespaces[everyNamespace].of(name, groups)
	if namespace != everyNamespace {
		s[3], s[4] = c.namespaces[namespace].of(name, groups)
	}
	return s
}

// of returns the counts of the subjects that a user matches.
func (n *count) of(name string, groups []string) (everybody, sum uint64) {
	if n == nil {
		return 0, 0
	}
	if len(n.subjects) > 0 {
		for s := range subjects(name, groups) {
			sum += n.subjects[s]
		}
	}
	return n.everybody, sum
}

// happened records a change that can affect some scopes.
func (c *changes) happened(scopes ...scope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first []scope
	for _, s := range scopes {
		if _, pending := c.pending[s]; pending {
			c.pending[s] = true
		} else {
			first = append(first, s)
		}
	}
	c.add(first)
	c.settle(first)
}

// settle starts the time until a second count. The caller must hold mu.
func (c *changes) settle(scopes []scope) {
	if len(scopes) == 0 {
		return
	}
	for _, s := range scopes {
		c.pending[s] = false
	}
	time.AfterFunc(settleTime, func() { c.settled(scopes) })
}

func (c *changes) settled(scopes []scope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var repeated []scope
	for _, s := range scopes {
		if c.pending[s] {
			repeated = append(repeated, s)
		}
		delete(c.pending, s)
	}
	c.add(scopes)
	c.settle(repeated)
	c.last = time.Now()
	c.call(scopes)
}

// call calls the listeners of some scopes, each once. The caller must hold mu.
func (c *changes) call(scopes []scope) {
	namespaces := map[subject]map[string]bool{somebody: {everyNamespace: true}}
	for _, s := range scopes {
		if namespaces[s.subject] == nil {
			namespaces[s.subject] = map[string]bool{}
		}
		namespaces[s.subject][s.namespace] = true
	}
	called := map[*listener]struct{}{}
	for subject, changed := range namespaces {
		for l := range c.listeners[subject] {
			if !changed[everyNamespace] && !changed[l.namespace] {
				continue
			}
			if _, before := called[l]; !before {
				called[l] = struct{}{}
				l.f()
			}
		}
	}
}

// add counts a change. The caller must hold mu.
func (c *changes) add(scopes []scope) {
	if len(scopes) == 0 {
		return
	}
	c.metrics.changes.Inc()
	for _, s := range scopes {
		if s == (scope{}) {
			c.everything++
			continue
		}
		n := c.namespaces[s.namespace]
		if n == nil {
			n = &count{subjects: map[subject]uint64{}}
			c.namespaces[s.namespace] = n
			c.counts++
		}
		if _, counted := n.subjects[s.subject]; s.subject != everybody && (counted || len(n.subjects) < maxSubjects) {
			if !counted {
				c.counts++
			}
			n.subjects[s.subject]++
			continue
		}
		n.everybody++
		if s.subject != everybody { // this count tells new results from old ones
			c.counts -= len(n.subjects)
			clear(n.subjects)
		}
	}
	if c.counts > maxCounts {
		c.everything++
		clear(c.namespaces)
		c.counts = 0
	}
}

// notify calls f after each change that can affect access of a user to a namespace, or after any if u is nil,
// until stop is called. It calls f at once if there was a recent change, of whatever scope.
func (c *changes) notify(namespace string, u user.Info, f func()) (stop func()) {
	l := &listener{namespace, u, f}
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range l.subjects() {
		if c.listeners[s] == nil {
			c.listeners[s] = map[*listener]struct{}{}
		}
		c.listeners[s][l] = struct{}{}
	}
	if !c.last.IsZero() && time.Since(c.last) < recentChange {
		f()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for s := range l.subjects() {
			if delete(c.listeners[s], l); len(c.listeners[s]) == 0 {
				delete(c.listeners, s)
			}
		}
	}
}

// subjects calls f with the subjects of the changes that concern the listener.
func (l *listener) subjects() func(f func(subject) bool) {
	return func(f func(subject) bool) {
		switch {
		case l.user == nil:
			f(somebody)
		case f(everybody):
			subjects(l.user.GetName(), l.user.GetGroups())(f)
		}
	}
}
