package resources

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/test/support/fake"
)

func TestResourceThatIsNotCacheableIsNotDescribedAgainForAWhile(t *testing.T) {
	for _, call := range []string{"discovery", "first list"} {
		for _, code := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
			d := fake.Widgets
			steps := []step{{call, fake.Refuse(code)}, {"watchlist", d.Stream(d.InitialEventsEnd("10"))}}
			run(t, d, Options{}, steps, func(t *testing.T, e *env) {
				e.lookup()
				pass(notCacheableFor / 2)
				if reason := e.lookup(); reason != NotCacheable {
					t.Errorf("%s refused with %d: %q", call, code, reason)
				}
				// Otherwise a list waits two seconds for a store that never comes.
				if !e.registry.Progress(d.GVR).Failing {
					t.Errorf("%s refused with %d: there is a store to wait for", call, code)
				}
				if states := e.registry.States(); len(states) != 0 {
					t.Errorf("states are %v", states)
				}
				pass(notCacheableFor)
				if reason := e.lookup(); reason != NotInSync {
					t.Errorf("after %s: %q", notCacheableFor, reason)
				}
				pass(time.Second)
				e.check(t, 10)
			})
		}
	}
}

func TestExcludedResourcesAreNeverRead(t *testing.T) {
	excluded := []schema.GroupVersionResource{
		{Version: "v1", Resource: "secrets"}, {Version: "v2", Resource: "secrets"},
		{Group: "example.com", Version: "v1", Resource: "widgets"},
	}
	run(t, fake.Widgets, Options{Exclude: []string{"secrets", "widgets.example.com", "events"}}, nil, func(t *testing.T, e *env) {
		for _, r := range excluded {
			if c, reason := e.registry.Lookup(r, "user"); c != nil || reason != Excluded {
				t.Errorf("%s: %v, %q", r, c, reason)
			}
		}
		pass(time.Minute)
		if len(e.Calls()) != 0 || len(e.registry.States()) != 0 {
			t.Errorf("calls %v, states %v", e.Calls(), e.registry.States())
		}
		// The same name in another group is another resource.
		if _, reason := e.registry.Lookup(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "secrets"}, "user"); reason != NotInSync {
			t.Errorf("secrets of another group: %s", reason)
		}
		pass(time.Second)
	})
}

func TestFirstLookupsShareOneReflector(t *testing.T) {
	d := fake.ConfigMaps
	run(t, d, Options{}, []step{{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))}}, func(t *testing.T, e *env) {
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				for range 20 {
					if c, reason := e.registry.Lookup(d.GVR, "user"); c == nil && reason != NotInSync {
						t.Error(reason)
					}
				}
			})
		}
		callers.Wait()
		if reason := e.registry.start(d.GVR, "user"); reason != NotInSync { // after another call has
			t.Error(reason)
		}
		pass(time.Second)
		e.CheckPlayed(t)
		e.check(t, 10, "a/x")
		if len(e.Calls()) != 1 || e.open[d.GVR.Resource] != 1 {
			t.Errorf("calls %v, %d watches are open", e.Calls(), e.open[d.GVR.Resource])
		}
	})
}

func TestNothingIsCachedBeforeAndAfterRun(t *testing.T) {
	d := fake.ConfigMaps
	if _, reason := New(Options{Log: zap.NewNop(), Limits: Limits{Idle: time.Hour}}).Lookup(d.GVR, "user"); reason != NotRunning {
		t.Errorf("before Run: %s", reason)
	}
	var ended *env
	run(t, d, Options{}, []step{{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))}}, func(t *testing.T, e *env) {
		ended = e
		e.lookup()
		pass(time.Second)
	})
	if reason := ended.lookup(); reason != NotRunning {
		t.Errorf("after Run: %s", reason)
	}
	if states := ended.registry.States(); len(states) != 0 {
		t.Errorf("after Run: %v", states)
	}
}
