package resources

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/proxy/discovery"
	"sluice/proxy/listwatch"
	"sluice/proxy/wait"
)

// errTakenOver is the reason of a rebuild when an extension server takes over a resource.
var errTakenOver = errors.New("APIService has changed")

const (
	// checkRetry is the time between two attempts to find out which server serves a resource, or by which CRD, and
	// checkTries how many there are: an apiserver that has just started refuses everything until it has
	// read its access rules.
	checkRetry = time.Second
	checkTries = 6
)

// followDefinitions rebuilds stores when the objects change that define their resources, APIServices and CRDs, until ctx ends.
//
// The apiserver serves new lists and watches by a changed CRD at once, but keeps open watches for up to two minutes, until
// requests in progress have ended. It goes on serving watches of a resource that an extension server has taken over.
func (r *Registry) followDefinitions(ctx context.Context) {
	r.goroutines.Go(func() {
		r.followObjects(ctx, discovery.APIServices, func(name string, _ uint64) {
			r.check(ctx, (*entry).checkServer, func(e *entry) bool { return e.gvr.Version+"."+e.gvr.Group == name })
		})
	})
	r.goroutines.Go(func() {
		r.followObjects(ctx, discovery.CRDs, func(name string, version uint64) {
			r.check(ctx, (*entry).checkCRD, func(e *entry) bool {
				if e.gvr.GroupResource().String() != name {
					return false
				}
				e.crd.Store(version)
				return true
			})
		})
	})
}

// followObjects calls changed with the name of each object of a resource, which has no namespaces, as [listwatch.Follower] does.
func (r *Registry) followObjects(ctx context.Context, gvr schema.GroupVersionResource, changed func(name string, version uint64)) {
	opened := func() func() { return r.options.Watches(gvr.Group, gvr.Version, gvr.Resource) }
	listwatch.NewFollower(r.options.Upstream, gvr, r.options.Log, listwatch.Options{Opened: opened}).
		Run(ctx, func(c listwatch.Change) { changed(string(c.Key), c.Version) })
}

// check checks the stores of some resources, and again for some seconds if that fails.
func (r *Registry) check(ctx context.Context, check func(*entry, context.Context) error, of func(*entry) bool) {
	for _, e := range r.entries.all() {
		if of(e) && check(e, ctx) != nil {
			r.goroutines.Go(func() { e.checkAgain(ctx, check) })
		}
	}
}

// checkAgain repeats a check that has failed, and rebuilds the store if it goes on failing.
func (e *entry) checkAgain(ctx context.Context, check func(*entry, context.Context) error) {
	var err error
	for range checkTries - 1 {
		wait.Pause(ctx, checkRetry)
		if err = check(e, ctx); err == nil || ctx.Err() != nil {
			return
		}
	}
	e.reflector.Rebuild(err)
}

// checkServer rebuilds the store if an extension server serves the resource. The error means that this
// is not known.
func (e *entry) checkServer(ctx context.Context) error {
	aggregated, err := e.client.Aggregated(ctx)
	if aggregated {
		e.reflector.Rebuild(errTakenOver)
	}
	if err != nil {
		return errors.Join(errTakenOver, err)
	}
	return nil
}

// checkCRD rebuilds the store if its CRD has changed in more than columns. The error means that this is not known.
func (e *entry) checkCRD(ctx context.Context) error {
	c := e.current.Load()
	if c == nil || c.Seen() >= e.crd.Load() { // without a store, it is checked when there is one
		return nil
	}
	switch err := c.session.Refresh(ctx); {
	case errors.Is(err, discovery.ErrChanged):
		e.reflector.Rebuild(err)
	case err != nil:
		return errors.Join(discovery.ErrChanged, err)
	}
	return nil
}

// fillAgain rebuilds a store at a time, unless it has ended by then: the handler that filled it may have served by the CRD before.
func (e *entry) fillAgain(ctx context.Context, s *cache.Store, at time.Time) {
	select {
	case <-time.After(time.Until(at)):
		e.reflector.Rebuild(discovery.ErrChanged)
	case <-s.Done():
	case <-ctx.Done():
	}
}
