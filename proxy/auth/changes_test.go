package auth

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// RBAC objects of ever new namespaces and subjects must not take ever more memory, nor may a stamp come again.
func TestCountsOfChangesAreBounded(t *testing.T) {
	for name, next := range map[string]func(i int) scope{
		"namespaces":             func(i int) scope { return scope{namespace: fmt.Sprint("n", i)} },
		"subjects":               func(i int) scope { return scope{"n0", subject{name: fmt.Sprint("u", i)}} },
		"both":                   func(i int) scope { return scope{fmt.Sprint("n", i), subject{name: fmt.Sprint("u", i)}} },
		"subjects of everything": func(i int) scope { return scope{everyNamespace, subject{name: fmt.Sprint("u", i)}} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer func() { time.Sleep(2 * settleTime) }() // until all timers have fired
				c, seen, last := newChanges(NewMetrics(nil)), map[stamp]bool{}, stamp{}
				for i := range maxCounts + 10 {
					before := c.stamp(next(i).namespace, next(i).subject.name, nil)
					c.happened(next(i))
					now := c.stamp(next(i).namespace, next(i).subject.name, nil)
					if now == before {
						t.Fatalf("change %d does not count", i)
					}
					first := c.stamp(next(0).namespace, next(0).subject.name, nil)
					if first != last && seen[first] {
						t.Fatalf("after change %d the stamp of the first is one that it had", i)
					}
					last, seen[first] = first, true
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				if c.counts > maxCounts || len(c.namespaces) > maxCounts {
					t.Errorf("%d counts in %d namespaces", c.counts, len(c.namespaces))
				}
			})
		})
	}
}

// The change of a scope concerns those whom it names, where it can affect them.
func TestListenersHearOfWhatConcernsThem(t *testing.T) {
	jane := &user.DefaultInfo{Name: "jane", Groups: []string{"devs"}}
	for _, row := range []struct {
		name   string
		change scope
		hears  bool
	}{
		{"her name", scope{"x", subject{name: "jane"}}, true},
		{"her group", scope{"x", subject{group: true, name: "devs"}}, true},
		{"everywhere", scope{everyNamespace, subject{name: "jane"}}, true},
		{"everybody in her namespace", scope{"x", everybody}, true},
		{"everything", scope{}, true},
		{"another namespace", scope{"y", subject{name: "jane"}}, false},
		{"another user", scope{"x", subject{name: "joe"}}, false},
		{"a group of her name", scope{"x", subject{group: true, name: "jane"}}, false},
		{"a user of the name of her group", scope{"x", subject{name: "devs"}}, false},
		{"everybody in another namespace", scope{"y", everybody}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, heard, heardAll := newChanges(NewMetrics(nil)), 0, 0
				stop := c.notify("x", jane, func() { heard++ })
				defer c.notify("x", nil, func() { heardAll++ })()
				before := c.stamp("x", "jane", jane.Groups)
				c.happened(row.change, row.change)
				if counts := c.stamp("x", "jane", jane.Groups) != before; counts != row.hears {
					t.Errorf("it counts for her reviews: %v", counts)
				}
				time.Sleep(settleTime + time.Millisecond)
				synctest.Wait()
				if heard == 1 != row.hears || heardAll != 1 {
					t.Errorf("she hears of it %d times, who listens to all %d times", heard, heardAll)
				}
				stop()
				c.happened(scope{})
				time.Sleep(settleTime + time.Millisecond)
				synctest.Wait()
				if heard > 1 {
					t.Error("she hears of what comes after she has stopped to listen")
				}
				if stop(); len(c.listeners) != 1 {
					t.Errorf("%d subjects have listeners", len(c.listeners))
				}
			})
		})
	}
}
