package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// writers keeps the apiserver busy and stays below its concurrency limits.
const writers = 32

// each calls f for every item, up to writers at a time, until one call fails.
func each[T any](ctx context.Context, items []T, f func(context.Context, T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, item := range items {
		g.Go(func() error { return f(ctx, item) })
	}
	return g.Wait()
}

// every calls f at each interval until the context ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	for pause(ctx, interval) {
		f()
	}
}

// pause waits and reports whether the context is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
