package fence

import (
	"context"
	"sync"
	"time"
)

// action is a kind of work of a worker. Each kind runs once at a time.
type action uint8

const (
	asking    action = iota // asks for the current version, for reads that need it
	listing                 // takes an inventory of the whole resource, on behalf of another action
	listingAt               // takes an inventory of exactly a version
	proving                 // has inventories taken and opens second watches while reads wait for a proof
	reviving                // waits for a proof after a stall, so that reads wait again
	mending                 // takes inventories that need not be cheap, while reads wait at any price
	actions
)

// state is how far an action is.
type state uint8

const (
	idle state = iota
	due
	running
	again // running, and due once more
)

// worker carries out the actions that reads wait for. It has no goroutine while no read waits.
//
//	       want         once Run has begun             ended
//	idle --------> due ---------------------> running -------> idle
//	                ^                            |
//	                |           ended            v  want
//	                +-------------------------- again
type worker struct {
	mu     sync.Mutex      // guards the fields below
	ctx    context.Context // nil while Run does not run: nothing begins
	do     [actions]func(context.Context)
	states [actions]state
	since  [actions]time.Time // when the action has begun
	begun  sync.WaitGroup
}

// want has an action done: at once, or once more if it runs.
func (w *worker) want(a action) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.states[a] {
	case idle:
		w.states[a] = due
		w.begin(a)
	case running:
		w.states[a] = again
	}
}

// begin begins an action if it is due. The caller must hold mu.
func (w *worker) begin(a action) {
	if w.states[a] != due || w.ctx == nil {
		return
	}
	ctx, do := w.ctx, w.do[a]
	w.states[a], w.since[a] = running, time.Now()
	w.begun.Go(func() {
		do(ctx)
		w.end(a)
	})
}

// claim begins an action that the caller does and ends, unless it runs.
func (w *worker) claim(a action) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.states[a] != idle {
		return false
	}
	w.states[a], w.since[a] = running, time.Now()
	return true
}

func (w *worker) end(a action) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.states[a] == running {
		w.states[a] = idle
		return
	}
	w.states[a] = due
	w.begin(a)
}

// runs reports whether an action runs, and for how long.
func (w *worker) runs(a action) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.since[a]), w.states[a] != idle
}

// run has actions done, each by its function, until ended is closed or ctx ends, and waits for their end.
func (w *worker) run(ctx context.Context, ended <-chan struct{}, do [actions]func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	w.ctx, w.do = ctx, do
	for a := range actions {
		w.begin(a)
	}
	w.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-ended:
	}
	w.mu.Lock()
	w.ctx = nil
	w.mu.Unlock()
	cancel()
	w.begun.Wait()
}
