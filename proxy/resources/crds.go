package resources

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/proxy/discovery"
)

// crds is the resource of the definitions of custom resources.
var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// followCRDs has the store of a custom resource rebuilt, or go on with other columns, as soon as its CRD changes. The apiserver
// serves new lists and watches by the new CRD at once, but keeps open watches for up to two minutes, until requests in progress
// have ended.
func (d *definitions) followCRDs(ctx context.Context) {
	d.follow(ctx, crds, func(name string, version uint64) {
		stores := d.entries.of(func(gvr schema.GroupVersionResource) bool { return gvr.GroupResource().String() == name })
		for _, e := range stores {
			e.crd.Store(version)
		}
		d.check(ctx, stores, (*entry).verifyCRD, discovery.ErrChanged)
	})
}

// verifyCRD rebuilds the store if its CRD has changed in more than columns. The error means that this is not known.
func (e *entry) verifyCRD(ctx context.Context) error {
	c := e.current.Load()
	if c == nil || c.Seen() >= e.crd.Load() { // without a store, it is verified when there is one
		return nil
	}
	err := c.session.Refresh(ctx)
	if errors.Is(err, discovery.ErrChanged) {
		e.reflector.Rebuild(err)
		return nil
	}
	return err
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
