package servetest

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
	"sluice/cache/fence"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/discovery"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/resources"
)

// Foos returns a cached custom resource with n objects at versions 1 to n.
func Foos(n int) *resources.CachedResource {
	var objects []*tree.Object
	for i := range n {
		objects = append(objects, Foo(i, uint64(i+1)))
	}
	return &resources.CachedResource{
		Encoders: new(sync.Map),
		Store:    cache.New(cache.Options{HistoryAge: time.Hour, HistoryBytes: 1 << 20}, objects, uint64(n)).Store,
		Description: &discovery.Description{Resource: codec.Resource{
			Group: "ex.io", Version: "v1", Resource: "foos", Kind: "Foo", ListKind: "FooList",
			Style: codec.Unstructured, Source: codec.JSON, Namespaced: true,
		}},
	}
}

// Foo returns the object i at a version. Its label says whether i is even.
func Foo(i int, version uint64) *tree.Object {
	name := fmt.Sprintf("f%06d", i)
	return &tree.Object{
		Key: tree.KeyOf("ns", name), RV: version, Labels: []tree.Label{{Key: "even", Value: fmt.Sprint(i%2 == 0)}},
		Data: fmt.Appendf(nil, `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":%q,"namespace":"ns","resourceVersion":"%d"}}`, name, version),
	}
}

// Env is what surrounds a handler for one cached resource: an apiserver and an authorizer that the test
// controls, and the handler of the requests that pass.
type Env struct {
	testing.TB
	Handler   http.Handler // that serves the requests; the test sets it
	Resource  *resources.CachedResource
	Apiserver *apiserver
	Access    *access
	Held      *limits.Ledger // counts what the requests hold; nil counts nothing
	Draining  chan struct{}
	looked    sync.Mutex    // guards Readers
	Readers   []string      // users for which the resource was looked up
	Missing   string        // the reason of a resource that is not cached; empty if it is
	Passed    *http.Request // the last request that was forwarded
	Status    int           // of the responses to these; 0 writes none
	Discards  uint64        // versions up to this one are of a discarded history
}

// New returns an Env whose apiserver is at the version of the store. In a synctest bubble, its fence
// runs in the bubble.
func New(t testing.TB, resource *resources.CachedResource) *Env {
	c := *resource // several may have one store
	e := &Env{
		TB: t, Resource: &c, Apiserver: &apiserver{version: c.Store.Snapshot().Version},
		Access: &access{Allowed: true, still: true}, Draining: make(chan struct{}),
	}
	c.Fence = fence.New(c.Store, e.Apiserver, func() fence.Cost { return fence.Cost{Share: 0.05, BytesPerSecond: 4 << 20} }, func(err error) { t.Error(err) })
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Fence.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return e
}

// Forward takes note of a request that passes.
func (e *Env) Forward(w http.ResponseWriter, r *http.Request) {
	if e.Passed = r; e.Status != 0 {
		w.WriteHeader(e.Status)
	}
}

// Lookup implements Resources.
func (e *Env) Lookup(_ schema.GroupVersionResource, user string) (*resources.CachedResource, string) {
	e.looked.Lock()
	e.Readers = append(e.Readers, user)
	e.looked.Unlock()
	return e.Look(schema.GroupVersionResource{})
}

// Look implements Resources.
func (e *Env) Look(schema.GroupVersionResource) (*resources.CachedResource, string) {
	if e.Missing != "" {
		return nil, e.Missing
	}
	return e.Resource, ""
}

// Discarded implements Resources.
func (e *Env) Discarded(_ context.Context, _ schema.GroupVersionResource, version uint64) bool {
	return version <= e.Discards
}

// Progress implements Resources: nothing is being filled.
func (e *Env) Progress(schema.GroupVersionResource) resources.Progress {
	return resources.Progress{Synced: e.Missing == "", Failing: true}
}

// Request returns a GET by an authenticated caller.
func (e *Env) Request(url string, header http.Header) *http.Request {
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
	info.Account = limits.Account{Ledger: e.Held, Caller: limits.Caller{Group: "user:jane"}}
	return r.WithContext(request.With(r.Context(), info))
}

// Do serves a request and returns its outcome.
func (e *Env) Do(w http.ResponseWriter, r *http.Request) request.Outcome {
	e.Passed = nil
	e.Handler.ServeHTTP(w, r)
	return request.From(r.Context()).Outcome
}

// Writer returns the writer of the store.
func (e *Env) Writer() *cache.Writer { return &cache.Writer{Store: e.Resource.Store} }

// Apply applies an event to the store.
func (e *Env) Apply(t cache.Type, o *tree.Object) {
	e.Helper()
	if err := e.Writer().Apply(t, o, time.Now()); err != nil {
		e.Fatal(err)
	}
}

// apiserver is a fence.Apiserver at a version that the test sets.
type apiserver struct {
	mu          sync.Mutex
	version     uint64         // 0 if it cannot be reached
	bookmark    uint64         // what every second watch delivers; 0 for nothing
	Slow        time.Duration  // how long a probe takes
	listed      []*tree.Object // by every inventory of the most recent state
	ListedAt    map[uint64][]*tree.Object
	inventories bool          // whether inventories can be taken
	called      []cache.Scope // the scopes of which the roll was called
}

var ErrUnreachable = errors.New("the apiserver cannot be reached")

// Probe implements fence.Apiserver.
func (a *apiserver) Probe(context.Context) (uint64, error) {
	a.mu.Lock()
	version, slow := a.version, a.Slow
	a.mu.Unlock()
	time.Sleep(slow)
	if version == 0 {
		return 0, ErrUnreachable
	}
	return version, nil
}

// Inventory implements fence.Apiserver.
func (a *apiserver) Inventory(_ context.Context, scope cache.Scope, version uint64) (*cache.Inventory, error) {
	r, slow, err := a.take(scope, version)
	if err != nil {
		return nil, err
	}
	time.Sleep(slow) // without the lock: no time passes in a bubble while another call waits for it
	return r, nil
}

// take returns what Inventory does after a time.
func (a *apiserver) take(scope cache.Scope, version uint64) (r *cache.Inventory, slow time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, listed := &cache.Inventory{Version: a.version, Scope: scope}, a.listed
	if version > 0 {
		r.Version, listed = version, a.ListedAt[version]
	}
	if !a.inventories && listed == nil || a.version == 0 {
		return nil, 0, ErrUnreachable
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
	return r, a.Slow, nil
}

// SecondWatch implements fence.Apiserver.
func (a *apiserver) SecondWatch(ctx context.Context, _ uint64, _, bookmark func(uint64)) error {
	a.mu.Lock()
	version := a.bookmark
	a.mu.Unlock()
	if version > 0 {
		bookmark(version)
	}
	<-ctx.Done()
	return ctx.Err()
}

// Scopes returns those of which the roll was called.
func (a *apiserver) Scopes() []cache.Scope {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.called
}

func (a *apiserver) Set(version, bookmark uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version, a.bookmark = version, bookmark
}

// SetListed sets the version of the apiserver and what it lists there.
func (a *apiserver) SetListed(version uint64, objects ...*tree.Object) {
	a.Set(version, 0)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inventories, a.listed = true, objects
}

// access is an Access whose answers the test sets.
type access struct {
	Learned bool // the apiserver has allowed a read
	Writes  bool // the caller may write

	Mu      sync.Mutex // guards the fields below once a request runs
	Allowed bool       // for new requests
	Failed  error
	Some    []string // the namespaces of reads that are not allowed; nil for none
	Lists   []string // the same of lists, if it is another
	still   bool     // for open watches
	err     error
	Hangs   bool // rechecks end with their context
	rules   map[*func()]struct{}
}

// MayRead implements Access.
func (a *access) MayRead(*http.Request, *request.Read) (bool, error) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	return a.Allowed, a.Failed
}

// MayWrite implements Access.
func (a *access) MayWrite(*http.Request, *request.Read) (bool, error) { return a.Writes, nil }

// MayReadSome implements Access.
func (a *access) MayReadSome(_ *http.Request, read *request.Read) (*request.Read, error) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	if a.Some == nil {
		return nil, nil
	}
	some := *read
	if some.Namespaces = a.Some; read.Verb == "list" && a.Lists != nil {
		some.Namespaces = a.Lists
	}
	return &some, nil
}

// Allow makes new requests allowed.
func (a *access) Allow() {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Allowed, a.Failed = true, nil
}

// Recall implements Access.
func (a *access) Recall(*http.Request, *request.Read) (bool, func()) {
	return a.Learned, func() {
		a.Mu.Lock()
		defer a.Mu.Unlock()
		a.Learned = true
	}
}

// StillAllowed implements Access.
func (a *access) StillAllowed(r *http.Request, _ *request.Read) (*apierrors.StatusError, error) {
	a.Mu.Lock()
	still, err, hangs, some := a.still, a.err, a.Hangs, a.Some != nil
	a.Mu.Unlock()
	if hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if still || err != nil {
		return nil, err
	}
	if some {
		return apierrors.NewResourceExpired("rights have changed"), nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: "foos"}, "", errors.New("revoked")), nil
}

// Notify implements Access.
func (a *access) Notify(f func()) (stop func()) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	if a.rules == nil {
		a.rules = map[*func()]struct{}{}
	}
	a.rules[&f] = struct{}{}
	return func() {
		a.Mu.Lock()
		defer a.Mu.Unlock()
		delete(a.rules, &f)
	}
}

// Change reports a change of access rules.
func (a *access) Change() {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	for f := range a.rules {
		(*f)()
	}
}

// Hang makes rechecks hang.
func (a *access) Hang() {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Hangs = true
}

func (a *access) Set(still bool, err error) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.still, a.err = still, err
}
