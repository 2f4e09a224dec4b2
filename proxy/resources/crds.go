package resources

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache/tree"
	"sluice/proxy/discovery"
	"sluice/proxy/listwatch"
	"sluice/proxy/wait"
)

// crds is the resource whose objects say what custom resources are.
var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// followCRDs has the store of a custom resource rebuilt, or go on with other columns, as soon as its CRD changes. The apiserver
// serves new lists and watches by the new CRD at once, but keeps open watches for up to two minutes, until requests in progress
// have ended.
func (r *Registry) followCRDs(ctx context.Context) {
	log := r.options.Log.With(zap.Stringer("resource", crds.GroupResource()))
	follower := listwatch.NewFollower(r.options.Upstream, crds, func() func() {
		return r.options.Watches(crds.Group, crds.Version, crds.Resource)
	})
	for failed := ""; ctx.Err() == nil; {
		err := follower.Follow(ctx, func(name tree.Key, version uint64) { r.crdChanged(ctx, string(name), version) })
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, io.EOF):
			failed = ""
			wait.Pause(ctx, crdRetry)
		default:
			if err.Error() != failed {
				log.Info("CRDs are not followed", zap.Error(err))
				failed = err.Error()
			}
			wait.Pause(ctx, absentRetry)
		}
	}
}

// crdRetry is the time between the end of a watch of CRDs and the next.
const crdRetry = serverRetry

// crdChanges are what is known of changes of the CRD of a resource, by their resource versions.
type crdChanges struct {
	last  atomic.Uint64
	first atomic.Uint64 // of those that are not verified, if it is not 0
}

// crdChanged verifies the CRD of the resources of a name.
func (r *Registry) crdChanged(ctx context.Context, name string, version uint64) {
	for gvr, e := range r.all() {
		if gvr.GroupResource().String() == name {
			e.crd.last.Store(version)
			e.crd.first.CompareAndSwap(0, version)
			r.verifyCRD(ctx, e)
		}
	}
}

// verifyCRD is entry.verifyCRD, repeated while it fails; in the end the store is rebuilt.
func (r *Registry) verifyCRD(ctx context.Context, e *entry) {
	if e.verifyCRD(ctx) != nil {
		r.goroutines.Go(func() { checkAgain(ctx, []*entry{e}, (*entry).verifyCRD, discovery.ErrChanged) })
	}
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

// changed returns the version from which on a store by a description may have shown what was not by the present CRD.
func (c *crdChanges) changed(d *discovery.Description) uint64 {
	return cmp.Or(c.first.Swap(0), d.Seen()+1)
}
