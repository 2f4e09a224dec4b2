package main

import (
	"context"
	"errors"
	"time"
)

// churn updates objects in the background.
type churn struct {
	cancel context.CancelFunc
	done   chan struct{} // closed by the goroutine that updates
	n      int           // acknowledged updates; like err, valid after done
	err    error
}

// startChurn calls update, rate times per second, until stop. A rate of zero means never.
func startChurn(ctx context.Context, rate int, update func(context.Context) error) *churn {
	ctx, cancel := context.WithCancel(ctx)
	c := &churn{cancel: cancel, done: make(chan struct{})}
	if rate == 0 {
		close(c.done)
		return c
	}
	go func() {
		defer close(c.done)
		c.err = c.run(ctx, rate, update)
	}()
	return c
}

func (c *churn) run(ctx context.Context, rate int, update func(context.Context) error) error {
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		err := update(ctx)
		if errors.Is(err, context.Canceled) {
			return nil // the update may have been applied; one does not matter
		}
		if err != nil {
			return err
		}
		c.n++
	}
}

// stop ends the updates and returns their number.
func (c *churn) stop() (int, error) {
	c.cancel()
	<-c.done
	return c.n, c.err
}

// measureUpdateCost measures the control plane's CPU per update, once per run.
func (e *env) measureUpdateCost(ctx context.Context) error {
	if e.updateCost > 0 {
		return nil
	}
	all, err := e.updatesAlone(ctx, e.update)
	e.updateCost = all / time.Duration(e.updates)
	return err
}
