package resources

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// apiServices is the resource whose objects say which server serves a group and version.
var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// errTakenOver is the reason of a rebuild when an extension server takes over a resource.
var errTakenOver = errors.New("APIService has changed")

// followAPIServices has the stores of a group and version rebuilt when its APIService leads to an
// extension server. Nothing else shows that: the apiserver itself goes on serving the watches that are
// open.
func (d *definitions) followAPIServices(ctx context.Context) {
	d.follow(ctx, apiServices, func(name string, _ uint64) {
		d.checkServers(ctx, d.entries.of(func(gvr schema.GroupVersionResource) bool { return gvr.Version+"."+gvr.Group == name }))
	})
}

// checkServers rebuilds stores that an extension server serves, or of which that cannot be found out for some seconds.
func (d *definitions) checkServers(ctx context.Context, stores []*entry) {
	d.check(ctx, stores, (*entry).checkServer, errTakenOver)
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
