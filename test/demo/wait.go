package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// writers keeps the apiserver busy and stays below its concurrency limits.
	writers = 32
	// retryLimit is far above the time that any step takes.
	retryLimit    = 3 * time.Minute
	retryInterval = 50 * time.Millisecond
)

// each calls f for every item, up to writers at a time, until one call fails.
func each[T any](ctx context.Context, items []T, f func(context.Context, T) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, item := range items {
		g.Go(func() error { return f(ctx, item) })
	}
	return g.Wait()
}

// until calls f until it succeeds, or returns its last error after retryLimit.
func until(ctx context.Context, f func() error) error {
	limit := time.Now().Add(retryLimit)
	for {
		err := f()
		if err == nil {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("not within %s: %w", retryLimit, err)
		}
		if !pause(ctx, retryInterval) {
			return ctx.Err()
		}
	}
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
