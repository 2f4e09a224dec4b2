package resources

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sluice/cache/tree"
	"sluice/test/support/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type step = fake.Step

// env is a Registry in front of a fake apiserver, in a synctest bubble.
type env struct {
	*fake.APIServer
	resource fake.Resource
	registry *Registry
	log      *observer.ObservedLogs

	mu   sync.Mutex
	open map[string]int // watches, by resource; guarded by mu
}

// run runs a test with a Registry, and ends all that runs there.
func run(t *testing.T, r fake.Resource, o Options, steps []step, test func(t *testing.T, e *env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &env{APIServer: fake.New(t, r, steps), resource: r, open: map[string]int{}}
		u, end := e.Upstream()
		defer end()
		core, logs := observer.New(zap.DebugLevel)
		e.log = logs
		o.Upstream, o.Log, o.Watches = u, zap.New(core), e.watches
		o.CheckEvery, o.Limits.Idle = cmp.Or(o.CheckEvery, 5*time.Minute), cmp.Or(o.Limits.Idle, time.Hour)
		e.registry = New(o)
		running(t, e.registry, func() { test(t, e) })
		for resource, n := range e.open {
			if n != 0 {
				t.Errorf("%d watches of %s are still open", n, resource)
			}
		}
	})
}

// running runs a Registry during a test.
func running(t *testing.T, r *Registry, test func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- r.Run(ctx) }()
	synctest.Wait() // until it runs
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()
	test()
}

func (e *env) watches(_, _, resource string) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open[resource]++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.open[resource]--
	}
}

// pass lets virtual time pass until nothing more happens.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// lookup looks the resource up and returns the reason.
func (e *env) lookup() string {
	_, reason := e.registry.Lookup(e.resource.GVR, "user")
	return reason
}

// check looks the resource up and compares its store with what is wanted of it.
func (e *env) check(t *testing.T, version uint64, keys ...string) *CachedResource {
	t.Helper()
	c, reason := e.registry.Lookup(e.resource.GVR, "user")
	if c == nil {
		for _, line := range e.log.All() {
			t.Log(line.Message, line.ContextMap())
		}
		t.Fatalf("%s; calls %v", reason, e.Calls())
	}
	state := c.Store.Snapshot()
	var got []string
	for o := range state.Objects(tree.Range{}) {
		got = append(got, string(o.Key))
	}
	if state.Version != version || strings.Join(got, " ") != strings.Join(keys, " ") {
		t.Errorf("store has %q at version %d, want %q at %d", got, state.Version, keys, version)
	}
	return c
}
