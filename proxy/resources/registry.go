package resources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cachelib "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/wait"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/proxy/upstream"
)

// The reasons why Lookup returns no CachedResource, as they stand in metrics and the access log.
const (
	Excluded       = "excluded"         // by Options.Exclude
	NotCacheable   = "not-cacheable"    // the apiserver itself does not serve it for list and watch
	NotInSync      = "not-in-sync"      // its store is being filled, or cannot be
	StoresTooLarge = "stores-too-large" // by Limits.Bytes
	NotRunning     = "not-running"      // Run has not begun or has ended
)

// Options sets up a Registry.
type Options struct {
	Upstream *upstream.Upstream
	// Exclude names resources that are never cached: "secrets",
	// "leases.coordination.k8s.io".
	Exclude []string
	// Store sets up the stores, except for their index.
	Store  cache.Options
	Limits Limits
	// ProofCost bounds the apiserver time of the proofs of each store.
	ProofCost fence.Cost
	// CheckEvery is the least time between two comparisons of a store with the apiserver; required.
	CheckEvery time.Duration
	Log        *zap.Logger
	// Watches is called when a watch of a resource is open at the apiserver. It returns a function
	// that is called when that watch is closed. Nil counts none.
	Watches func(group, version, resource string) (closed func())
}

// Registry holds the cached resources. It is safe for concurrent use.
type Registry struct {
	options    Options
	exclude    map[string]bool
	goroutines sync.WaitGroup // Run waits for them
	// descriptions and fills are requests to the apiserver for new stores.
	descriptions, fills fills
	room                room

	entries entries

	mu        sync.RWMutex    // guards the fields below, and is locked before that of entries
	run       context.Context // nil before and after Run
	following bool            // definitions are followed

	proofCostNow atomic.Pointer[fence.Cost]

	notCacheable *cachelib.LRUExpireCache // the resources that turned out to be so lately
}

// New returns a Registry. It caches nothing before Run.
func New(o Options) *Registry {
	if o.Watches == nil {
		o.Watches = func(_, _, _ string) func() { return func() {} }
	}
	r := &Registry{
		options: o, exclude: map[string]bool{}, entries: entries{m: map[schema.GroupVersionResource]*entry{}},
		notCacheable: cachelib.NewLRUExpireCache(maxAbsent),
		descriptions: newFills(), fills: newFills(),
	}
	r.room = room{limit: o.Limits.Bytes, idle: o.Limits.Idle, log: o.Log, entries: &r.entries}
	r.SetProofCost(o.ProofCost)
	for _, name := range o.Exclude {
		r.exclude[name] = true
	}
	return r
}

// SetProofCost changes the bound of the proofs of each store, from now on.
func (r *Registry) SetProofCost(c fence.Cost) { r.proofCostNow.Store(&c) }

// Run caches resources until the context ends. It returns when all reflectors have ended.
func (r *Registry) Run(ctx context.Context) error {
	r.mu.Lock()
	r.run = ctx
	r.mu.Unlock()
	wait.UntilWithContext(ctx, func(context.Context) { r.room.enforce(time.Now()) }, enforceEvery)
	r.mu.Lock()
	r.run = nil // no reflector starts from here on
	r.mu.Unlock()
	r.goroutines.Wait()
	return nil
}

// Lookup returns a resource whose store is in sync, or nil and the reason why there is none. The
// first call for a resource starts its reflector, on behalf of a user whose read must have been authorized.
func (r *Registry) Lookup(gvr schema.GroupVersionResource, user string) (*CachedResource, string) {
	if r.exclude[gvr.GroupResource().String()] {
		return nil, Excluded
	}
	e := r.entries.get(gvr)
	if e == nil {
		return nil, r.start(gvr, user)
	}
	e.used.Store(time.Now().UnixNano())
	return e.resource()
}

// Look is Lookup without any effect: it starts nothing.
func (r *Registry) Look(gvr schema.GroupVersionResource) (*CachedResource, string) {
	if r.exclude[gvr.GroupResource().String()] {
		return nil, Excluded
	}
	if e := r.entries.get(gvr); e != nil {
		return e.resource()
	}
	return nil, NotInSync
}

// start starts the reflector of a resource, unless a concurrent call already did. It returns why the
// resource cannot be served yet.
func (r *Registry) start(gvr schema.GroupVersionResource, user string) string {
	if _, absent := r.notCacheable.Get(gvr); absent {
		return NotCacheable
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.run == nil:
		return NotRunning
	case r.entries.get(gvr) != nil:
		return NotInSync
	}
	ctx, stop := context.WithCancel(r.run)
	e := newEntry(r, gvr, user, ctx, stop)
	if !r.room.begin(e) {
		stop()
		return StoresTooLarge
	}
	r.entries.set(gvr, e)
	r.goroutines.Go(func() { r.reflect(ctx, e) })
	if gvr.Group != "" && !r.following {
		r.following = true
		r.followDefinitions(r.run)
	}
	return NotInSync
}

// maxAbsent is how many resources that are not cacheable are remembered.
const maxAbsent = 10_000

// State is the state of one resource's store.
type State struct {
	Resource  string // "pods.v1", "deployments.v1.apps"
	Synced    bool
	Forbidden bool // the apiserver forbids Sluice to list or watch it
}

// States returns the state of every resource that was looked up and may be cacheable, in the order of
// their names.
func (r *Registry) States() []State {
	var states []State
	for gvr, e := range r.entries.all() {
		states = append(states, State{Resource: name(gvr), Synced: e.current.Load() != nil, Forbidden: e.forbidden.Load()})
	}
	slices.SortFunc(states, func(a, b State) int { return strings.Compare(a.Resource, b.Resource) })
	return states
}

// Stalled returns the names of the resources for which a read has waited for a proof in vain, and none has succeeded since.
func (r *Registry) Stalled() (names []string) {
	for gvr, e := range r.entries.all() {
		if c := e.current.Load(); c != nil && c.Fence.Facts().Stalled {
			names = append(names, name(gvr))
		}
	}
	return names
}

// CheckRights returns an error that names the resources that were in sync and that the apiserver forbids
// Sluice to read since. A resource that Sluice never could read is not among them: that is how it is set up,
// and its reads are forwarded.
func (r *Registry) CheckRights() error {
	var lost []string
	for gvr, e := range r.entries.all() {
		if e.rightsLost.Load() {
			lost = append(lost, name(gvr))
		}
	}
	if lost == nil {
		return nil
	}
	slices.Sort(lost)
	return fmt.Errorf("apiserver no longer allows to read %s", strings.Join(lost, ", "))
}

func name(gvr schema.GroupVersionResource) string {
	return strings.TrimSuffix(gvr.Resource+"."+gvr.Version+"."+gvr.Group, ".")
}

// entries are the resources that were looked up.
type entries struct {
	mu sync.RWMutex
	m  map[schema.GroupVersionResource]*entry
}

// get returns the entry of a resource, nil if there is none.
func (e *entries) get(gvr schema.GroupVersionResource) *entry {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.m[gvr]
}

// set adds or, with nil, removes an entry.
func (e *entries) set(gvr schema.GroupVersionResource, to *entry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.m[gvr] = to; to == nil {
		delete(e.m, gvr)
	}
}

// all returns a copy of the entries.
func (e *entries) all() map[schema.GroupVersionResource]*entry {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return maps.Clone(e.m)
}
