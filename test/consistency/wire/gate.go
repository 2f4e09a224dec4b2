package wire

import (
	"context"
	"sync"
)

// gate lets pass while it is open.
type gate struct {
	mu   sync.Mutex // guards open
	open chan struct{}
	shut bool
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == shut {
		return
	}
	g.shut = shut
	if shut {
		g.open = make(chan struct{})
		return
	}
	close(g.open)
}

// pass waits until the gate is open or the context ends.
func (g *gate) pass(ctx context.Context) error {
	for {
		g.mu.Lock()
		open, shut := g.open, g.shut
		g.mu.Unlock()
		if !shut {
			return ctx.Err()
		}
		select {
		case <-open:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
