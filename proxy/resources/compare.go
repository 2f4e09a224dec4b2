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
)

// compareUntilDone compares a store with the apiserver every Options.CheckEvery, until the store ends. Up to as
// much again is added at random, so that replicas and resources spread out. A store that differs must not be
// served, whatever the cause: it is rebuilt.
func (r *Registry) compareUntilDone(ctx context.Context, e *entry, s *cache.Store) {
	for {
		t := time.NewTimer(r.options.CheckEvery + rand.N(r.options.CheckEvery))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-s.Done():
			t.Stop()
			return
		case <-t.C:
		}
		switch err := e.client.Compare(ctx, s); {
		case errors.Is(err, listwatch.ErrMismatch):
			e.mismatches.Add(1)
			e.log.Error("store differs from the apiserver", zap.Error(err))
			e.reflector.Rebuild(fmt.Errorf("%w: %w", err, cache.ErrDiverged))
			return
		case err != nil && ctx.Err() == nil:
			e.log.Info("store could not be compared with the apiserver", zap.Error(err))
		}
	}
}
