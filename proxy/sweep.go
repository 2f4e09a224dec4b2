package proxy

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"sluice/proxy/discovery"
)

// sweepEvery is how often the series of resources that are gone are looked for.
const sweepEvery = 10 * time.Minute

// SweepMetrics deletes the series of resources that the apiserver no longer serves, such as those of
// deleted CRDs, until ctx ends. It always returns nil.
func (g *Gateway) SweepMetrics(ctx context.Context) error {
	var before map[schema.GroupVersionResource]activity
	wait.UntilWithContext(ctx, func(ctx context.Context) { before = g.sweepMetrics(ctx, before) }, sweepEvery)
	return nil
}

// sweepMetrics deletes the series of a resource that discovery does not name, unless it is in use: some
// extension servers serve more than discovery names. A resource is in use if a watch of it is open, or a
// request of it has finished since the sweep before. It returns the state for the next sweep.
func (g *Gateway) sweepMetrics(ctx context.Context,
	before map[schema.GroupVersionResource]activity) map[schema.GroupVersionResource]activity {
	now := g.options.Metrics.activity()
	unused := map[schema.GroupVersion][]schema.GroupVersionResource{}
	for gvr, a := range now {
		if a.open == 0 && a == before[gvr] {
			unused[gvr.GroupVersion()] = append(unused[gvr.GroupVersion()], gvr)
		}
	}
	for version, resources := range unused {
		served, err := discovery.Served(ctx, g.options.Upstream, version)
		if err != nil {
			continue // it is not known
		}
		for _, gvr := range resources {
			if !served[gvr.Resource] {
				g.options.Metrics.forget(gvr)
			}
		}
	}
	return now
}
