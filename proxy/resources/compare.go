package resources

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"sluice/cache"
	"sluice/proxy/listwatch"
	"sluice/proxy/wait"
)

// errMismatch is the reason to rebuild a store that differs from the apiserver.
var errMismatch = errors.New("the store differs from the apiserver")

// compareUntilDone compares a store with the apiserver until the store ends. Up to as much again is added at random to each
// pause, so that replicas and resources spread out. A store that differs must not be served, whatever the cause: it is rebuilt.
func (e *entry) compareUntilDone(ctx context.Context, pause time.Duration, source *listwatch.Session, s *cache.Store) {
	for {
		next, stop := context.WithTimeout(ctx, pause+rand.N(pause))
		ended := wait.For(next, s.Done(), nil)
		stop()
		if ended || ctx.Err() != nil {
			return
		}
		version := s.Snapshot().Version
		listed, err := source.Inventory(ctx, cache.Scope{}, version)
		var state *cache.Snapshot
		if err == nil {
			state, err = s.At(version) // has the deletions at this version that have come since
		}
		if err != nil {
			e.log.Info("store could not be compared with the apiserver", zap.Error(err))
			continue
		}
		for k := range listed.Differing(state) {
			e.mismatches.Add(1)
			err := fmt.Errorf("%s at version %d: %w", k, state.Version, errMismatch)
			e.log.Error("store differs from the apiserver", zap.Error(err))
			e.reflector.Rebuild(fmt.Errorf("%w: %w", err, cache.ErrDiverged))
			return
		}
	}
}
