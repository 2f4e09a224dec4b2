package resources

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/proxy/discovery"
)

// crds is the resource whose objects say what custom resources are.
var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// followCRDs has the store of a custom resource rebuilt, or go on with other columns, as soon as its CRD changes. The apiserver
// serves new lists and watches by the new CRD at once, but keeps open watches for up to two minutes, until requests in progress
// have ended.
func (r *Registry) followCRDs(ctx context.Context) {
	r.follow(ctx, crds, func(name string, version uint64) {
		stores := r.of(func(gvr schema.GroupVersionResource) bool { return gvr.GroupResource().String() == name })
		for _, e := range stores {
			e.crd.last.Store(version)
			e.crd.first.CompareAndSwap(0, version)
		}
		r.check(ctx, stores, (*entry).verifyCRD, discovery.ErrChanged)
	})
}

// crdChanges are what is known of changes of the CRD of a resource, by their resource versions.
type crdChanges struct {
	last  atomic.Uint64
	first atomic.Uint64 // of those that are not verified, if it is not 0
}

// verifyCRD rebuilds the store if its CRD has changed in more than columns. The error means that this is not known.
func (e *entry) verifyCRD(ctx context.Context) error {
	c := e.current.Load()
	if c == nil {
		return nil // what has changed by then is verified when there is a store
	}
	if c.Seen() < e.crd.last.Load() {
		if err := c.session.Refresh(ctx); errors.Is(err, discovery.ErrChanged) {
			e.reflector.Rebuild(err)
			return nil
		} else if err != nil {
			return err
		}
	}
	e.crd.first.Store(0)
	return nil
}

// fillAgain rebuilds a store at a time, unless it has ended by then.
func (e *entry) fillAgain(ctx context.Context, s *cache.Store, at time.Time) {
	select {
	case <-time.After(time.Until(at)):
		e.reflector.Rebuild(discovery.ErrUnsettled)
	case <-s.Done():
	case <-ctx.Done():
	}
}

// changed returns the version from which on a store by a description may have shown what was not by the present CRD.
func (c *crdChanges) changed(d *discovery.Description) uint64 {
	return cmp.Or(c.first.Swap(0), d.Seen()+1)
}
