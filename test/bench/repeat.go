package main

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// repeat has every client call do repeatedly, at least once, until the window ends. It returns the
// duration of each call.
func repeat(
	ctx context.Context, clients int, window time.Duration, do func(ctx context.Context, client int) error,
) ([]time.Duration, error) {
	var (
		walls []time.Duration
		mu    sync.Mutex // guards walls
		end   = time.Now().Add(window)
		g, gc = errgroup.WithContext(ctx)
	)
	for i := range clients {
		g.Go(func() error {
			for {
				start := time.Now()
				if err := do(gc, i); err != nil {
					return err
				}
				wall := time.Since(start)
				mu.Lock()
				walls = append(walls, wall)
				mu.Unlock()
				if !time.Now().Before(end) {
					return nil
				}
			}
		})
	}
	err := g.Wait()
	return walls, err
}
