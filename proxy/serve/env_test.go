package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/codec"
	"sluice/proxy/discovery"
	"sluice/proxy/request"
	"sluice/proxy/resources"
)

// foos returns a cached custom resource with n objects at versions 1 to n.
func foos(n int) *resources.CachedResource {
	var objects []*cache.Object
	for i := range n {
		objects = append(objects, foo(i, uint64(i+1)))
	}
	return &resources.CachedResource{
		Encoders: new(sync.Map),
		Store:    cache.New(cache.Options{HistoryAge: time.Hour, HistoryBytes: 1 << 20}, objects, uint64(n)),
		Description: &discovery.Description{Resource: codec.Resource{
			Group: "ex.io", Version: "v1", Resource: "foos", Kind: "Foo", ListKind: "FooList",
			Style: codec.Unstructured, Source: codec.JSON, Namespaced: true,
		}},
	}
}

// foo returns the object i at a version. Its label says whether i is even.
func foo(i int, version uint64) *cache.Object {
	name := fmt.Sprintf("f%06d", i)
	return &cache.Object{
		Key: cache.KeyOf("ns", name), RV: version, Labels: []cache.Label{{Key: "even", Value: fmt.Sprint(i%2 == 0)}},
		Data: fmt.Appendf(nil, `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":%q,"namespace":"ns","resourceVersion":"%d"}}`, name, version),
	}
}

// env is a Handler for one cached resource, between an apiserver and an authorizer that the test
// controls.
type env struct {
	testing.TB
	resource  *resources.CachedResource
	handler   *Handler
	apiserver *apiserver
	access    *access
	draining  chan struct{}
	looked    sync.Mutex         // guards readers
	readers   []resources.Reader // for which the resource was looked up
	missing   string             // the reason of a resource that is not cached; empty if it is
	passed    *http.Request      // the last request that was forwarded
	status    int                // of the responses to these; 0 writes none
	discarded uint64             // versions up to this one are of a discarded history
}

// newEnv starts an env whose apiserver is at the version of the store. In a synctest bubble, its fence
// runs in the bubble.
func newEnv(t testing.TB, resource *resources.CachedResource, o Options) *env {
	c := *resource // several envs may have one store
	e := &env{
		TB: t, resource: &c, apiserver: &apiserver{version: c.Store.Snapshot().Version},
		access: &access{allowed: true, still: true}, draining: make(chan struct{}),
	}
	c.Fence = cache.NewFence(c.Store, e.apiserver, func() cache.Cost { return cache.Cost{} }, func(err error) { t.Error(err) })
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Fence.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	o.Resources, o.Access, o.Draining = e, e.access, e.draining
	if o.PassedBytes == 0 {
		o.PassedBytes = 128 << 20
	}
	o.Next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.passed = r; e.status != 0 {
			w.WriteHeader(e.status)
		}
	})
	e.handler = New(o)
	return e
}

// Lookup implements Resources.
func (e *env) Lookup(_ schema.GroupVersionResource, reader resources.Reader) (*resources.CachedResource, string) {
	e.looked.Lock()
	e.readers = append(e.readers, reader)
	e.looked.Unlock()
	if e.missing != "" {
		return nil, e.missing
	}
	return e.resource, ""
}

// Peek implements Resources.
func (e *env) Peek(schema.GroupVersionResource) *resources.CachedResource {
	if e.missing != "" {
		return nil
	}
	return e.resource
}

// Discarded implements Resources.
func (e *env) Discarded(_ context.Context, _ schema.GroupVersionResource, version uint64) bool {
	return version <= e.discarded
}

// Progress implements Resources: nothing is being filled.
func (e *env) Progress(schema.GroupVersionResource) resources.Progress {
	return resources.Progress{Synced: e.missing == "", Failing: true}
}

// request returns a GET by an authenticated caller.
func (e *env) request(url string, header http.Header) *http.Request {
	r, err := http.NewRequestWithContext(e.Context(), http.MethodGet, url, nil)
	if err != nil {
		e.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	info, err := request.Parse(r)
	if err != nil {
		e.Fatal(err)
	}
	info.Caller, info.User = request.BearerToken, "jane"
	return r.WithContext(request.With(r.Context(), info))
}

// serve serves a request and returns its outcome.
func (e *env) serve(w http.ResponseWriter, r *http.Request) request.Outcome {
	e.passed = nil
	e.handler.ServeHTTP(w, r)
	return request.From(r.Context()).Outcome
}

// apply applies an event to the store.
func (e *env) apply(t cache.Type, o *cache.Object) {
	e.Helper()
	if err := e.resource.Store.Apply(t, o, time.Now()); err != nil {
		e.Fatal(err)
	}
}

// apiserver is a cache.Prober at a version that the test sets.
type apiserver struct {
	mu       sync.Mutex
	version  uint64          // 0 if it cannot be reached
	bookmark uint64          // what every probe watch delivers; 0 for nothing
	slow     time.Duration   // how long a probe takes
	listed   []*cache.Object // by every roll call of the most recent state
	listedAt map[uint64][]*cache.Object
	rolls    bool          // whether rolls can be called
	called   []cache.Scope // the scopes of which the roll was called
}

var errUnreachable = errors.New("the apiserver cannot be reached")

// Probe implements cache.Prober.
func (a *apiserver) Probe(context.Context) (uint64, error) {
	a.mu.Lock()
	version, slow := a.version, a.slow
	a.mu.Unlock()
	time.Sleep(slow)
	if version == 0 {
		return 0, errUnreachable
	}
	return version, nil
}

// RollCall implements cache.Prober.
func (a *apiserver) RollCall(_ context.Context, scope cache.Scope, version uint64) (*cache.RollCall, error) {
	r, slow, err := a.callRoll(scope, version)
	if err != nil {
		return nil, err
	}
	time.Sleep(slow) // without the lock: no time passes in a bubble while another call waits for it
	return r, nil
}

// callRoll returns what RollCall does after a time.
func (a *apiserver) callRoll(scope cache.Scope, version uint64) (r *cache.RollCall, slow time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, listed := &cache.RollCall{Version: a.version, Scope: scope}, a.listed
	if version > 0 {
		r.Version, listed = version, a.listedAt[version]
	}
	if !a.rolls && listed == nil || a.version == 0 {
		return nil, 0, errUnreachable
	}
	a.called = append(a.called, scope)
	for _, o := range listed {
		if !scope.Range().Contains(o.Key) {
			continue
		}
		if err := r.Add(o.Key, o.RV); err != nil {
			return nil, 0, err
		}
	}
	return r, a.slow, nil
}

// ProbeWatch implements cache.Prober.
func (a *apiserver) ProbeWatch(ctx context.Context, _ uint64, _, bookmark func(uint64)) error {
	a.mu.Lock()
	version := a.bookmark
	a.mu.Unlock()
	if version > 0 {
		bookmark(version)
	}
	<-ctx.Done()
	return ctx.Err()
}

// scopes returns those of which the roll was called.
func (a *apiserver) scopes() []cache.Scope {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.called
}

func (a *apiserver) set(version, bookmark uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version, a.bookmark = version, bookmark
}

// setListed sets the version of the apiserver and what it lists there.
func (a *apiserver) setListed(version uint64, objects ...*cache.Object) {
	a.set(version, 0)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rolls, a.listed = true, objects
}

// access is an Access whose answers the test sets.
type access struct {
	learned bool // the apiserver has allowed a read

	mu      sync.Mutex // guards the fields below once a request runs
	allowed bool       // for new requests
	failed  error
	still   bool // for open watches
	err     error
	hangs   bool // rechecks end with their context
	rules   map[*request.Read]func()
}

// MayRead implements Access.
func (a *access) MayRead(*http.Request, *request.Read) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.allowed, a.failed
}

// allow makes new requests allowed.
func (a *access) allow() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.allowed, a.failed = true, nil
}

// Recall implements Access.
func (a *access) Recall(*http.Request, *request.Read) (bool, func()) {
	return a.learned, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.learned = true
	}
}

// StillAllowed implements Access.
func (a *access) StillAllowed(r *http.Request, _ *request.Read) (*apierrors.StatusError, error) {
	a.mu.Lock()
	still, err, hangs := a.still, a.err, a.hangs
	a.mu.Unlock()
	if hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if still || err != nil {
		return nil, err
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: "foos"}, "", errors.New("revoked")), nil
}

// Notify implements Access.
func (a *access) Notify(_ *http.Request, read *request.Read, f func()) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rules == nil {
		a.rules = map[*request.Read]func(){}
	}
	a.rules[read] = f
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.rules, read)
	}
}

// change reports a change of access rules.
func (a *access) change() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.rules {
		f()
	}
}

// hang makes rechecks hang.
func (a *access) hang() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hangs = true
}

func (a *access) set(still bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.still, a.err = still, err
}
