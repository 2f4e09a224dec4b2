package priority

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache/tree"
	"sluice/proxy/resources"
	"sluice/proxy/wait"
)

const (
	// useEvery is how often the stores are looked up, so that they count as used.
	useEvery = time.Minute
	// minRetry and maxRetry are the delays until a missing store is looked up again.
	minRetry = time.Second
	maxRetry = time.Minute
)

var (
	schemaResource = flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas")
	levelResource  = flowcontrolv1.SchemeGroupVersion.WithResource("prioritylevelconfigurations")
)

// Resources finds the configuration of the cluster, and the sizes of lists. It is a *resources.Registry.
type Resources interface {
	Lookup(schema.GroupVersionResource, resources.Reader) (*resources.CachedResource, string)
	Peek(schema.GroupVersionResource) *resources.CachedResource
}

// follow calls apply with each configuration of the cluster until ctx ends, and with none while a store is
// missing.
func follow(ctx context.Context, from Resources, apply func(configuration), log *zap.Logger) {
	var seen []*tree.Object // the configuration applied last
	retry := minRetry
	for ctx.Err() == nil {
		schemas, levels := lookup(from, schemaResource), lookup(from, levelResource)
		if schemas == nil || levels == nil {
			wait.Pause(ctx, retry)
			retry = min(2*retry, maxRetry)
			continue
		}
		retry = minRetry
		schemasChanged, levelsChanged := schemas.Store.Changed(), levels.Store.Changed()
		all := slices.AppendSeq(slices.Collect(schemas.Store.Snapshot().Objects(tree.Range{})),
			levels.Store.Snapshot().Objects(tree.Range{}))
		if !slices.Equal(all, seen) {
			seen = all
			if c, err := read(schemas, levels); err == nil {
				apply(c)
			} else {
				log.Warn("FlowSchemas and PriorityLevelConfigurations cannot be used", zap.Error(err))
			}
		}
		used, cancel := context.WithTimeout(ctx, useEvery)
		wait.For(used, schemasChanged, levelsChanged)
		cancel()
	}
}

// lookup returns a resource in Sluice's own name; nil if it has no store that goes on.
func lookup(from Resources, r schema.GroupVersionResource) *resources.CachedResource {
	c, _ := from.Lookup(r, resources.Reader{Whole: true})
	if c == nil {
		return nil
	}
	select {
	case <-c.Store.Done():
		return nil
	default:
		return c
	}
}
