package resources

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/codec"
	"sluice/proxy/upstream"
)

const (
	// absentFor is how long a resource that the upstream does not serve is
	// not asked for again.
	absentFor = 5 * time.Second
)

// The reasons why Lookup returns no CachedResource, as they stand in metrics and the access log.
const (
	Excluded         = "excluded"           // by Options.Exclude
	NotCacheable     = "not-cacheable"      // the apiserver itself does not serve it for list and watch
	NotInSync        = "not-in-sync"        // its store is being filled, or cannot be
	TooManyResources = "too-many-resources" // by Limits.Resources
	StoresTooLarge   = "stores-too-large"   // by Limits.Bytes
	NotRunning       = "not-running"        // Run has not begun or has ended
)

// Options sets up a Registry.
type Options struct {
	Upstream *upstream.Upstream
	// Exclude names resources that are never cached: "secrets",
	// "leases.coordination.k8s.io".
	Exclude []string
	Store   cache.Options
	Limits  Limits
	// CheckEvery is the least time between two comparisons of a store with
	// the upstream; 0 means five minutes.
	CheckEvery time.Duration
	Log        *zap.Logger
	// Watches is told of each watch that is opened upstream, and calls what it
	// returns when that is closed; nil counts none.
	Watches func(group, version, resource string) (closed func())
}

// Registry holds the collections.
type Registry struct {
	options Options
	exclude map[string]bool
	feeds   sync.WaitGroup // Run waits for them

	mu      sync.RWMutex // guards all below
	run     context.Context
	entries map[schema.GroupVersionResource]*entry
}

// entry is one resource that was asked for.
type entry struct {
	resource   schema.GroupVersionResource
	collection atomic.Pointer[CachedResource] // nil while not in sync
	absent     atomic.Bool                    // until it is forgotten
	refused    atomic.Bool                    // for its size, until it is forgotten
	used       atomic.Int64                   // UnixNano of the last read
	feed       *reflector.Reflector
	stop       context.CancelFunc // ends the feed
	received   atomic.Uint64
	mismatches atomic.Uint64
}

// New returns a Registry. It feeds nothing before Run.
func New(o Options) *Registry {
	m := &Registry{options: o, exclude: map[string]bool{}, entries: map[schema.GroupVersionResource]*entry{}}
	m.options.Limits = o.Limits.withDefaults()
	if o.CheckEvery == 0 {
		m.options.CheckEvery = checkEvery
	}
	if o.Watches == nil {
		m.options.Watches = func(_, _, _ string) func() { return func() {} }
	}
	for _, name := range o.Exclude {
		m.exclude[name] = true
	}
	return m
}

// Run lets feeds run until the context ends, and returns when they have ended.
func (m *Registry) Run(ctx context.Context) error {
	m.mu.Lock()
	m.run = ctx
	m.mu.Unlock()
	m.keepLimits(ctx)
	m.mu.Lock() // no feed starts behind this
	m.run = nil
	m.mu.Unlock()
	m.feeds.Wait()
	return nil
}

// CachedResource returns the collection of a resource, or nil and why there is
// none. The first call for a resource starts its feed.
func (m *Registry) Lookup(r schema.GroupVersionResource) (*CachedResource, string) {
	if m.exclude[r.GroupResource().String()] {
		return nil, Excluded
	}
	m.mu.RLock()
	e := m.entries[r]
	m.mu.RUnlock()
	if e == nil {
		return nil, m.start(r)
	}
	e.used.Store(time.Now().UnixNano())
	if c := e.collection.Load(); c != nil {
		return c, ""
	}
	switch {
	case e.absent.Load():
		return nil, NotCacheable
	case e.refused.Load():
		return nil, StoresTooLarge
	}
	return nil, NotInSync
}

// start starts the feed of a resource, unless somebody else just did.
func (m *Registry) start(r schema.GroupVersionResource) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.run == nil:
		return NotRunning
	case m.entries[r] != nil:
		return NotInSync
	case m.present() >= m.options.Limits.Resources:
		return TooManyResources
	}
	e := &entry{resource: r}
	e.used.Store(time.Now().UnixNano())
	ctx, stop := context.WithCancel(m.run)
	e.stop = stop
	log := m.options.Log.With(zap.Stringer("resource", r.GroupResource()), zap.String("version", r.Version))
	src := &source{upstream: m.options.Upstream, gvr: r, watches: m.options.Watches, reprinted: e.reprint}
	e.feed = reflector.New(src, reflector.Options{
		Store:    func() cache.Options { return m.storeOptions(src) },
		Publish:  func(s *cache.Store) { m.publish(ctx, e, src, s, log) },
		Report:   func(err error) { log.Warn("feed interrupted", zap.Error(err)) },
		Received: func(reflector.Event) { e.received.Add(1) },
	})
	m.entries[r] = e
	m.feeds.Go(func() { m.feed(ctx, e, log) })
	return NotInSync
}

// present counts the entries of resources that exist, as far as is known. The
// lock must be held.
func (m *Registry) present() int {
	n := 0
	for _, e := range m.entries {
		if !e.absent.Load() {
			n++
		}
	}
	return n
}

func (m *Registry) storeOptions(src *source) cache.Options {
	o := m.options.Store
	o.Index = src.fields.index()
	return o
}

// feed runs the feed of an entry. A resource that turns out to be absent, or is
// refused for its size, is forgotten after a while, so that it can be asked for
// again.
func (m *Registry) feed(ctx context.Context, e *entry, log *zap.Logger) {
	defer e.stop()
	err := e.feed.Run(ctx)
	m.mu.RLock()
	run := m.run
	m.mu.RUnlock()
	switch {
	case run == nil:
	case errors.Is(err, reflector.ErrAbsent):
		log.Info("resource is not served or not cacheable", zap.Error(err))
		e.absent.Store(true)
		pause(run, absentFor)
	case e.refused.Load():
		pause(run, refusedFor)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, e.resource)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// publish makes a collection of a store in sync, or withdraws it.
func (m *Registry) publish(ctx context.Context, e *entry, src *source, s *cache.Store, log *zap.Logger) {
	if s == nil {
		e.collection.Store(nil)
		log.Info("store is withdrawn")
		return
	}
	// What the source goes on to learn is not about this store.
	known := *src
	c := &CachedResource{
		ID: rand.Text(), Store: s, Resource: known.resource, Warnings: known.warnings, Fence: cache.NewFence(s, &known, e.feed.Rebuild),
		adrift: e.feed.DisconnectedFor, fields: known.fields, ColumnsMatch: known.printable, Encoders: new(sync.Map), outdated: make(chan struct{}),
	}
	m.feeds.Go(func() { c.Fence.Run(ctx) }) // ends with the store, as does the next
	m.feeds.Go(func() { m.checkUntil(ctx, e, c, &known, log) })
	e.collection.Store(c)
	state := s.Snapshot()
	log.Info("store is in sync", zap.Int("objects", state.Len()), zap.Uint64("resource_version", state.Version),
		zap.Stringer("encoding", known.resource.Source))
}

// reprint makes the collection print its Tables with other columns.
func (e *entry) reprint(columns codec.Columns, printable bool) {
	if c := e.collection.Load(); c != nil {
		e.collection.Store(c.reprint(columns, printable))
		close(c.outdated)
	}
}

// all returns the entries of the moment.
func (m *Registry) all() map[schema.GroupVersionResource]*entry {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.entries)
}

// Report tells for each resource that was asked for whether its store is in
// sync, in the order of their names.
func (m *Registry) Report() []State {
	var states []State
	for r, e := range m.all() {
		if !e.absent.Load() {
			states = append(states, State{Resource: name(r), Synced: e.collection.Load() != nil})
		}
	}
	slices.SortFunc(states, func(a, b State) int { return strings.Compare(a.Resource, b.Resource) })
	return states
}

// State is that of one resource's store.
type State struct {
	Resource string // "pods.v1", "deployments.v1.apps"
	Synced   bool
}

func name(r schema.GroupVersionResource) string {
	return strings.TrimSuffix(r.Resource+"."+r.Version+"."+r.Group, ".")
}
