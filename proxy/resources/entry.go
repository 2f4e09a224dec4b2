package resources

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/fence"
	"sluice/cache/reflector"
	"sluice/cache/tree"
	"sluice/proxy/discovery"
	"sluice/proxy/fault"
	"sluice/proxy/listwatch"
	"sluice/proxy/wait"
)

// notCacheableFor is for how long a resource that turned out to be not cacheable is not described
// again.
const notCacheableFor = 5 * time.Second

// entry is one resource that was looked up.
type entry struct {
	gvr       schema.GroupVersionResource
	log       *zap.Logger
	client    *listwatch.Client
	reflector *reflector.Reflector
	stop      context.CancelFunc // ends the reflector
	startedBy string             // the user whose read started it

	progress   progress
	current    atomic.Pointer[CachedResource] // nil while not in sync
	forbidden  atomic.Bool                    // the apiserver forbids to read it, and there is no store
	rightsLost atomic.Bool                    // the same, of a resource that was in sync
	tooLarge   atomic.Bool                    // until the entry is removed
	used       atomic.Int64                   // UnixNano of the last Lookup
	shown      discarded                      // by the last store; only the reflector's goroutine uses it
	discarded  atomic.Pointer[discarded]      // nil if no store has shown any
	crd        atomic.Uint64                  // the version of the last change of the CRD
	received   atomic.Uint64                  // events and bookmarks
	mismatches atomic.Uint64
	proven     atomic.Int64 // UnixNano of the latest time up to which a fill or a proof has shown everything

	// Only the reflector's goroutine uses these.
	filled       func()    // gives back the place of the fill
	read         int64     // memory that the fill takes so far
	objects      int64     // that it has read
	claimed      int64     // memory that it has claimed
	wasSynced    bool      // a store has been in sync
	refusedSince time.Time // when fills were first forbidden since then; zero if none was

	// Registry.room.mu guards these.
	charged int64
	evicted bool
}

// newEntry returns the entry of a resource that a user has read. ctx is the context of its reflector, and stop ends it.
func newEntry(r *Registry, gvr schema.GroupVersionResource, user string, ctx context.Context, stop context.CancelFunc) *entry {
	e := &entry{
		gvr: gvr, startedBy: user, stop: stop, filled: func() {},
		log: r.options.Log.With(zap.Stringer("resource", gvr.GroupResource()), zap.String("version", gvr.Version)),
	}
	e.used.Store(time.Now().UnixNano())
	e.progress.begin()
	e.client = listwatch.New(r.options.Upstream, gvr, listwatch.Options{
		Opened:         func() func() { return r.options.Watches(gvr.Group, gvr.Version, gvr.Resource) },
		ColumnsChanged: e.updateColumns,
		Describe:       func(ctx context.Context) (func(), error) { return r.descriptions.enter(ctx, 0, user) },
		Fill: func(ctx context.Context, bytes int64) error {
			if err := e.beginFill(ctx, &r.fills, bytes); err != nil {
				return err
			}
			if !r.room.claimFill(e, bytes) {
				return errNoRoom
			}
			return nil
		},
		Compare: func(ctx context.Context, bytes int64) (func(), error) { return r.fills.enter(ctx, bytes, user) },
		Read:    func(o *tree.Object) { r.room.reads(e, o.Size()) },
	})
	e.reflector = reflector.New(e.client, reflector.Options{
		Store: func() cache.Options {
			o := r.options.Store
			o.Index = e.client.Session().Description().Fields.Index()
			return o
		},
		Publish: func(s *cache.Store) { r.publish(ctx, e, s) },
		Report: func(err error) {
			e.log.Warn("reflector interrupted", zap.Error(err))
			lists := errors.Is(err, reflector.ErrUnsupported) || errors.Is(err, reflector.ErrListInstead) || errors.Is(err, cache.ErrHeldBack)
			if e.current.Load() == nil && !lists {
				e.filled()
				e.extrapolate()
				e.progress.failed()
				if errors.Is(err, reflector.ErrForbidden) {
					e.refused()
				}
			}
		},
		Ended:    e.ended,
		Received: func(reflector.Event) { e.received.Add(1) },
	})
	return e
}

// lostAfter is how long the apiserver must refuse fills, as it refuses watches before their store is withdrawn. One that
// has just started refuses for moments, and so do webhooks that authorize.
const lostAfter = 20 * time.Second

// refused records that the apiserver forbids to fill a store. The rights are missing until a store is in sync: other errors do
// not show that it may be read.
func (e *entry) refused() {
	if !e.forbidden.Swap(true) {
		e.log.Warn("the apiserver forbids Sluice to list and watch the resource", zap.String("do", fault.Grant))
	}
	switch {
	case !e.wasSynced: // that is how Sluice is set up
	case e.refusedSince.IsZero():
		e.refusedSince = time.Now()
	case time.Since(e.refusedSince) >= lostAfter:
		e.rightsLost.Store(true)
	}
}

// beginFill waits until the store may be filled, with about so many bytes.
func (e *entry) beginFill(ctx context.Context, all *fills, bytes int64) (err error) {
	e.progress.guessed(bytes)
	e.filled() // of a streaming list that gave way to a list
	e.filled, err = all.enter(ctx, bytes, e.startedBy)
	return err
}

// extrapolate estimates the size of the resource by the part that a broken fill has read: the first object alone
// may be much smaller than the others.
func (e *entry) extrapolate() {
	if e.objects > 0 {
		e.progress.measured((e.read - storeOverhead) / e.objects * max(e.objects, e.client.Session().Description().ListLength))
	}
}

// errNoRoom ends a fill for which there is no room.
var errNoRoom = errors.New("stores are too large")

// reflect runs the reflector of an entry and removes the entry when it has ended. The entry of a
// resource whose store is too large stays for a while to give that reason. Readers that wait for the store are woken
// when Lookup tells them why there is none.
func (r *Registry) reflect(ctx context.Context, e *entry) {
	defer e.stop()
	err := e.reflector.Run(ctx)
	e.filled()
	r.room.measure(e, nil)
	r.mu.RLock()
	run := r.run
	r.mu.RUnlock()
	switch {
	case run == nil:
	case errors.Is(err, reflector.ErrAbsent):
		e.log.Info("resource is not cacheable", zap.Error(err))
		r.notCacheable.Add(e.gvr, nil, notCacheableFor)
	case e.tooLarge.Load() && e.claimed > 0: // it exists
		e.progress.failed()
		wait.Pause(run, tooLargeFor)
	}
	r.entries.set(e.gvr, nil)
	e.progress.end()
}

// publish makes the CachedResource of a store in sync current. A nil store withdraws it.
func (r *Registry) publish(ctx context.Context, e *entry, s *cache.Store) {
	if s == nil {
		if c := e.current.Swap(nil); c != nil {
			e.progress.measured(c.Store.Snapshot().Bytes())
		}
		e.progress.begin()
		e.log.Info("store is withdrawn")
		return
	}
	e.succeed(s.Snapshot().Version)
	session := e.client.Session()
	cost := func() fence.Cost { return *r.proofCostNow.Load() }
	c := &CachedResource{
		Description: session.Description(),
		Store:       s, Began: e.reflector.Began(), Fence: fence.New(s, session, cost, e.reflector.Rebuild),
		Encoders: new(sync.Map), Now: r.options.Upstream.Clock.Now,
		StreamingLists: e.reflector.StreamingLists(), session: session, entry: e, columnsChanged: make(chan struct{}),
	}
	e.prove(c.Began)
	c.prehistory = &prehistory{source: session, store: s, until: s.OldestVersion(), ctx: ctx, run: r.goroutines.Go}
	// They end with the store.
	r.goroutines.Go(func() { c.Fence.Run(ctx) })
	r.goroutines.Go(func() { e.compareUntilDone(ctx, r.options.CheckEvery, session, s) })
	e.current.Store(c)
	r.goroutines.Go(func() {
		if e.checkCRD(ctx) != nil {
			e.checkAgain(ctx, (*entry).checkCRD)
		}
	})
	if c.fillsAgain() {
		r.goroutines.Go(func() { e.fillAgain(ctx, s, c.FillAgain) })
	}
	e.wasSynced = true
	e.refusedSince = time.Time{}
	e.rightsLost.Store(false)
	e.forbidden.Store(false)
	r.room.measure(e, c)
	e.filled()
	e.progress.synced()
	state := s.Snapshot()
	e.log.Info("store is in sync", zap.Int("objects", state.Len()), zap.Uint64("resource_version", state.Version),
		zap.Stringer("encoding", c.Resource.Source))
}

// updateColumns makes the current store, if it is the described one, go on with other printer columns.
func (e *entry) updateColumns(was, now *discovery.Description) {
	if c := e.current.Load(); c != nil && c.Description == was && e.current.CompareAndSwap(c, c.withDescription(now)) {
		close(c.columnsChanged)
	}
}

// resource returns the resource if it can be served now, or nil and the reason why not.
func (e *entry) resource() (*CachedResource, string) {
	if c := e.current.Load(); c != nil {
		return c, ""
	}
	if e.tooLarge.Load() {
		return nil, StoresTooLarge
	}
	return nil, NotInSync
}
