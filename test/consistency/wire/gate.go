package wire

import (
	"context"
	"sync"
)

// gate blocks goroutines while it is closed.
type gate struct {
	mu     sync.Mutex    // guards the fields below
	opened chan struct{} // closed while the gate is open
	closed bool
}

func newGate() *gate {
	g := &gate{opened: make(chan struct{})}
	close(g.opened)
	return g
}

func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == closed {
		return
	}
	g.closed = closed
	if closed {
		g.opened = make(chan struct{})
		return
	}
	close(g.opened)
}

// wait waits until the gate is open or the context ends.
func (g *gate) wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		opened, closed := g.opened, g.closed
		g.mu.Unlock()
		if !closed {
			return ctx.Err()
		}
		select {
		case <-opened:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
