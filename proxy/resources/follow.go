package resources

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache/tree"
	"sluice/proxy/listwatch"
	"sluice/proxy/upstream"
	"sluice/proxy/wait"
)

// definitions rebuilds stores when the objects change that define their resources: APIServices and CRDs.
type definitions struct {
	upstream   *upstream.Upstream
	watches    func(group, version, resource string) (closed func())
	log        *zap.Logger
	entries    *entries
	goroutines *sync.WaitGroup
}

// follow calls changed with the name of each object of a resource, which has no namespaces, as [listwatch.Follower] does.
func (d *definitions) follow(ctx context.Context, gvr schema.GroupVersionResource, changed func(name string, version uint64)) {
	opened := func() func() { return d.watches(gvr.Group, gvr.Version, gvr.Resource) }
	listwatch.NewFollower(d.upstream, gvr, d.log, opened).Run(ctx, func(key tree.Key, version uint64) { changed(string(key), version) })
}

const (
	// checkRetry is the time between two attempts to find out which server serves a resource, or by which CRD, and
	// checkTries how many there are: an apiserver that has just started refuses everything until it has
	// read its access rules.
	checkRetry = time.Second
	checkTries = 6
)

// check checks some stores, again for some seconds if that fails, and rebuilds those of which it goes on failing, for a reason.
func (d *definitions) check(ctx context.Context, stores []*entry, check func(*entry, context.Context) error, reason error) {
	failed := slices.DeleteFunc(stores, func(e *entry) bool { return check(e, ctx) == nil })
	if len(failed) > 0 {
		d.goroutines.Go(func() { checkAgain(ctx, failed, check, reason) })
	}
}

// checkAgain repeats checks that have failed.
func checkAgain(ctx context.Context, failed []*entry, check func(*entry, context.Context) error, reason error) {
	for try := 2; len(failed) > 0 && ctx.Err() == nil; try++ {
		wait.Pause(ctx, checkRetry)
		failed = slices.DeleteFunc(failed, func(e *entry) bool {
			err := check(e, ctx)
			if err != nil && try == checkTries {
				e.reflector.Rebuild(errors.Join(reason, err))
			}
			return err == nil || try == checkTries
		})
	}
}
