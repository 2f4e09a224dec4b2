package resources

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/proxy/discovery"
	"sluice/proxy/listwatch"
	"sluice/proxy/wait"
)

// apiServices is the resource whose objects say which server serves a group and version.
var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// errTakenOver is the reason of a rebuild when an extension server takes over a resource.
var errTakenOver = errors.New("APIService has changed")

// followAPIServices has the stores of a group and version rebuilt when its APIService leads to an
// extension server. Nothing else shows that: the apiserver itself goes on serving the watches that are
// open. If the apiserver seems to have no aggregator, it looks for one again from time to time: somebody else may have
// answered.
func (r *Registry) followAPIServices(ctx context.Context) {
	log := r.options.Log.With(zap.Stringer("resource", apiServices.GroupResource()))
	for absent := ""; ctx.Err() == nil; wait.Pause(ctx, absentRetry) {
		if err := r.followOnce(ctx, log); err != nil && err.Error() != absent {
			log.Info("APIServices are not followed", zap.Error(err))
			absent = err.Error()
		}
	}
}

// absentRetry is the time between two attempts to follow APIServices that are not there.
const absentRetry = 10 * time.Second

// followOnce is followAPIServices until it seems that there are none.
func (r *Registry) followOnce(ctx context.Context, log *zap.Logger) error {
	source := listwatch.New(r.options.Upstream, apiServices, listwatch.Options{
		Opened:         func() func() { return r.options.Watches(apiServices.Group, apiServices.Version, apiServices.Resource) },
		ColumnsChanged: func(_, _ *discovery.Description) {},
	})
	return reflector.New(source, reflector.Options{
		Publish: func(s *cache.Store) {
			if s != nil {
				r.checkServer(ctx, func(schema.GroupVersion) bool { return true })
			}
		},
		Received: func(e reflector.Event) {
			if e.Object != nil {
				r.checkServer(ctx, func(gv schema.GroupVersion) bool { return string(e.Object.Key) == gv.Version+"."+gv.Group })
			}
		},
		Report: func(err error) { log.Warn("reflector interrupted", zap.Error(err)) },
	}).Run(ctx)
}

const (
	// serverRetry is the time between two attempts to find out which server serves a resource, or by which CRD, and
	// serverTries how many there are: an apiserver that has just started refuses everything until it has
	// read its access rules.
	serverRetry = time.Second
	serverTries = 6
)

// checkServer rebuilds the stores of some groups and versions if an extension server serves them, or if
// that cannot be found out for some seconds.
func (r *Registry) checkServer(ctx context.Context, of func(schema.GroupVersion) bool) {
	var unknown []*entry
	for gvr, e := range r.all() {
		if of(gvr.GroupVersion()) && e.checkServer(ctx) != nil {
			unknown = append(unknown, e)
		}
	}
	if len(unknown) > 0 {
		r.goroutines.Go(func() { checkAgain(ctx, unknown, (*entry).checkServer, errTakenOver) })
	}
}

// checkAgain repeats checks that have failed, and rebuilds the stores for a reason if they go on failing.
func checkAgain(ctx context.Context, unknown []*entry, check func(*entry, context.Context) error, reason error) {
	for try := 2; len(unknown) > 0 && ctx.Err() == nil; try++ {
		wait.Pause(ctx, serverRetry)
		unknown = slices.DeleteFunc(unknown, func(e *entry) bool {
			err := check(e, ctx)
			if err != nil && try == serverTries {
				e.reflector.Rebuild(errors.Join(reason, err))
			}
			return err == nil || try == serverTries
		})
	}
}

// checkServer rebuilds the store if an extension server serves the resource. The error means that this
// is not known.
func (e *entry) checkServer(ctx context.Context) error {
	aggregated, err := e.client.Aggregated(ctx)
	if aggregated {
		e.reflector.Rebuild(errTakenOver)
	}
	return err
}
