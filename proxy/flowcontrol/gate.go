package flowcontrol

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// errFull is returned when no place is free and the request may not wait, or has waited too long.
var errFull = errors.New("no place is free")

// Limit is a number of places, in total and for one user.
type Limit struct{ Total, PerUser int }

// gate gives out the places of a class. Users who wait get places in turn, one each, so that a user
// with many waiting requests delays others by one request at most.
type gate struct {
	mu       sync.Mutex // guards all below
	limit    Limit
	wait     time.Duration // how long a request may wait; 0 for classes that do not queue
	running  int
	waiting  int
	flows    map[string]*flow
	eligible list.List // of the flows that wait for a place of the total, in turn
}

// flow is the requests of one user. It is in gate.eligible if and only if it has waiting requests and
// runs fewer than Limit.PerUser.
type flow struct {
	key      string
	running  int
	waiting  list.List // of *waiter, in order of arrival
	eligible *list.Element
}

// waiter is a request that waits.
type waiter struct {
	flow    *flow
	place   *list.Element // in flow.waiting; nil once started
	started chan struct{} // closed when it has a place
}

func newGate(l Limit, wait time.Duration) *gate {
	return &gate{limit: l, wait: wait, flows: map[string]*flow{}}
}

// set changes the limits. Requests that run beyond new ones go on; those that wait longer than wait
// lets them leave at their old time.
func (g *gate) set(l Limit, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit, g.wait = l, wait
	for _, f := range g.flows {
		g.update(f)
	}
	g.startWaiting()
}

// enter returns a function that gives the place back, which must be called once. The error is errFull
// or ctx.Err().
func (g *gate) enter(ctx context.Context, key string) (leave func(), err error) {
	g.mu.Lock()
	f := g.flows[key]
	if f == nil {
		f = &flow{key: key}
		g.flows[key] = f
	}
	leave = func() { g.leave(f) }
	if g.running < g.limit.Total && f.running < g.limit.PerUser && g.eligible.Len() == 0 {
		g.start(f)
		g.mu.Unlock()
		return leave, nil
	}
	if !g.mayWait(f) {
		g.forget(f)
		g.mu.Unlock()
		return nil, errFull
	}
	w := &waiter{flow: f, started: make(chan struct{})}
	w.place = f.waiting.PushBack(w)
	g.waiting++
	g.update(f)
	wait := g.wait
	g.mu.Unlock()
	return leave, g.await(ctx, w, wait)
}

// mayWait reports whether one more request of f may wait. Each user may have as many waiting requests
// as running ones; when all together reach the total, users who already wait may add none. Those that wait
// for a turn have a place elsewhere, so their number is bounded there.
func (g *gate) mayWait(f *flow) bool {
	return g.wait == untilDone || g.wait > 0 && f.waiting.Len() < g.limit.PerUser && (g.waiting < g.limit.Total || f.waiting.Len() == 0)
}

// await waits until w has a place. It withdraws w when it returns an error.
func (g *gate) await(ctx context.Context, w *waiter, wait time.Duration) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	var err error
	select {
	case <-w.started:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-t.C:
		err = errFull
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.place == nil {
		return nil // it got its place at the same time
	}
	w.flow.waiting.Remove(w.place)
	g.waiting--
	g.update(w.flow)
	g.forget(w.flow)
	return err
}

// leave gives a place back, to the flow whose turn it is if one waits.
func (g *gate) leave(f *flow) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	f.running--
	g.update(f)
	g.forget(f)
	g.startWaiting()
}

// startWaiting gives free places to the flows whose turn it is.
func (g *gate) startWaiting() {
	for g.running < g.limit.Total && g.eligible.Len() > 0 {
		next := g.eligible.Remove(g.eligible.Front()).(*flow)
		next.eligible = nil
		w := next.waiting.Remove(next.waiting.Front()).(*waiter)
		w.place = nil
		g.waiting--
		g.start(next)
		g.update(next)
		close(w.started)
	}
}

func (g *gate) start(f *flow) {
	g.running++
	f.running++
}

// update puts f at the end of the eligible flows or takes it out, as the invariant of flow demands.
func (g *gate) update(f *flow) {
	wants := f.waiting.Len() > 0 && f.running < g.limit.PerUser
	switch {
	case wants && f.eligible == nil:
		f.eligible = g.eligible.PushBack(f)
	case !wants && f.eligible != nil:
		g.eligible.Remove(f.eligible)
		f.eligible = nil
	}
}

// forget drops a flow without requests.
func (g *gate) forget(f *flow) {
	if f.running == 0 && f.waiting.Len() == 0 {
		delete(g.flows, f.key)
	}
}

// numbers returns how many requests run and wait.
func (g *gate) numbers() (running, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running, g.waiting
}
