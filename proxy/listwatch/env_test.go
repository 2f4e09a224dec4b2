package listwatch

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/cache/tree"
	"sluice/proxy/discovery"
	"sluice/test/support/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type step = fake.Step

// env is a reflector that reads a fake apiserver through a Client, in a synctest bubble.
type env struct {
	*fake.APIServer
	client *Client

	mu     sync.Mutex // guards all below
	stores []*cache.Store
	store  *cache.Store // nil while not in sync
	errors []error
	opened int // watches that are open
	// columns are the descriptions of which ColumnsChanged was called.
	columns []*discovery.Description
}

// run runs a test with a reflector, and ends all that runs there.
func run(t *testing.T, r fake.Resource, steps []step, test func(t *testing.T, e *env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &env{APIServer: fake.New(t, r, steps)}
		u, end := e.Upstream()
		defer end()
		e.client = New(u, r.GVR, Options{Opened: e.watchOpened, ColumnsChanged: e.columnsChanged})
		reflector := reflector.New(sameHistory{e.client}, reflector.Options{Publish: e.publish, Report: e.report})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = reflector.Run(ctx)
		}()
		defer func() {
			stop()
			<-ended
			if e.opened != 0 {
				t.Errorf("%d watches are still open", e.opened)
			}
		}()
		test(t, e)
	})
}

// sameHistory is a Client whose watches are all of the same history, so that scripts need no inventories.
type sameHistory struct{ *Client }

func (c sameHistory) Watch(ctx context.Context, version uint64) (reflector.Stream, error) {
	stream, err := c.Client.Watch(ctx, version)
	if err != nil {
		return nil, err
	}
	return certain{stream}, nil
}

type certain struct{ reflector.Stream }

func (certain) Continues() bool { return true }

func (e *env) watchOpened() func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.opened--
	}
}

func (e *env) columnsChanged(_, d *discovery.Description) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.columns = append(e.columns, d)
}

func (e *env) publish(s *cache.Store) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.store = s; s != nil {
		e.stores = append(e.stores, s)
	}
}

func (e *env) report(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.errors = append(e.errors, err)
}

// pass lets virtual time pass until nothing more happens.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// checkAfter lets virtual time pass, in which all steps are played, and checks the store.
func (e *env) checkAfter(t *testing.T, d time.Duration, version uint64, keys ...string) {
	t.Helper()
	pass(d)
	e.CheckPlayed(t)
	e.check(t, version, keys...)
}

// check compares the store with what is wanted of it; version 0 means that there must be none.
func (e *env) check(t *testing.T, version uint64, keys ...string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.store == nil || version == 0 {
		if e.store != nil || version != 0 {
			t.Errorf("in sync: %v; calls %v, errors %v", e.store != nil, e.Calls(), e.errors)
		}
		return
	}
	state := e.store.Snapshot()
	var got []string
	for o := range state.Objects(tree.Range{}) {
		got = append(got, string(o.Key))
	}
	if state.Version != version || strings.Join(got, " ") != strings.Join(keys, " ") {
		t.Errorf("store has %q at version %d, want %q at %d", got, state.Version, keys, version)
	}
}
