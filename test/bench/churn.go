package main

import (
	"context"
	"errors"
	"time"
)

// churn is updates that go on in the background.
type churn struct {
	cancel context.CancelFunc
	done   chan struct{} // closed by the goroutine that updates
	n      int           // updates done; to be read after done, as err
	err    error
}

// churn updates pods at a rate until stop. A rate of zero is none.
func (b *bed) churn(ctx context.Context, rate int) *churn {
	ctx, cancel := context.WithCancel(ctx)
	c := &churn{cancel: cancel, done: make(chan struct{})}
	if rate == 0 {
		close(c.done)
		return c
	}
	go func() {
		defer close(c.done)
		c.err = b.updateUntil(ctx, rate, &c.n)
	}()
	return c
}

func (b *bed) updateUntil(ctx context.Context, rate int, n *int) error {
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		err := b.update(ctx)
		if errors.Is(err, context.Canceled) {
			return nil // whether it was done or not: one more or less
		}
		if err != nil {
			return err
		}
		*n++
	}
}

// stop ends the updates and returns how many there were.
func (c *churn) stop() (int, error) {
	c.cancel()
	<-c.done
	return c.n, c.err
}

// priceUpdates measures what one update costs the control plane, if that is not known yet.
func (b *bed) priceUpdates(ctx context.Context) error {
	if b.updateCost > 0 {
		return nil
	}
	all, err := b.alone(ctx)
	b.updateCost = all / time.Duration(b.updates)
	return err
}
