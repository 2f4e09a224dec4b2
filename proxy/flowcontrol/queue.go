package flowcontrol

import (
	"container/list"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"sluice/proxy/accounts"
)

// errTooLong is returned when a place has not become free in time.
var errTooLong = errors.New("no place has become free in time")

// untilDone is a wait that only a context ends.
const untilDone = time.Duration(math.MaxInt64)

// Queue gives out places, for which callers wait: the groups of accounts in turn, and the accounts of a
// group in turn, so that somebody with many waiting requests delays others by one request at most. It
// does not bound how many wait: what they hold meanwhile is counted by their accounts.
type Queue struct {
	newest bool // of one account, the newest waits least

	mu       sync.Mutex // guards all below
	places   int
	running  int
	waiting  int
	groups   map[string]*flowGroup // those that run or wait
	eligible list.List             // of the *flowGroup that wait and may run, in turn
}

// flowGroup is the requests of a group of accounts. It is in Queue.eligible if and only if it has waiting
// requests and may run more.
type flowGroup struct {
	name     string
	most     int // it may run at once; 0 for no bound of its own
	running  int
	flows    map[string]*flow // those that wait
	turns    list.List        // of them, in turn
	eligible *list.Element
}

// flow is the waiting requests of one account.
type flow struct {
	name    string
	turn    *list.Element // in flowGroup.turns
	waiting list.List     // of *waiter, those first that start first
}

// waiter is a request that waits.
type waiter struct {
	group   *flowGroup
	flow    *flow
	place   *list.Element // in flow.waiting; nil once started
	started chan struct{} // closed when it has a place
}

// NewQueue returns a Queue with so many places.
func NewQueue(places int) *Queue { return &Queue{places: places, groups: map[string]*flowGroup{}} }

// NewestFirst makes the newest request of an account the first, so that one which arrives behind a flood
// of others does not wait for them. It must be called before Enter.
func (q *Queue) NewestFirst() *Queue {
	q.newest = true
	return q
}

// SetPlaces changes the number of places. Requests that run beyond it go on.
func (q *Queue) SetPlaces(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.places = n
	q.start()
}

// Enter waits for a place until ctx ends. leave gives it back and must be called once.
func (q *Queue) Enter(ctx context.Context, k accounts.Key) (leave func(), err error) {
	return q.enter(ctx, k, 0, untilDone)
}

// EnterWithin is Enter for a group that may have most places at once, or any number if most is 0. It
// waits no longer than wait.
func (q *Queue) EnterWithin(ctx context.Context, k accounts.Key, most int, wait time.Duration) (leave func(), err error) {
	return q.enter(ctx, k, most, wait)
}

func (q *Queue) enter(ctx context.Context, k accounts.Key, most int, wait time.Duration) (leave func(), err error) {
	q.mu.Lock()
	g := q.groups[k.Group]
	if g == nil {
		g = &flowGroup{name: k.Group, flows: map[string]*flow{}}
		q.groups[k.Group] = g
	}
	g.most = most
	leave = func() { q.leave(g) }
	if q.running < q.places && len(g.flows) == 0 && g.mayRun() && q.eligible.Len() == 0 {
		q.running++
		g.running++
		q.mu.Unlock()
		return leave, nil
	}
	w := q.add(g, k.Name)
	q.mu.Unlock()
	if err := q.await(ctx, w, wait); err != nil {
		return nil, err
	}
	return leave, nil
}

func (g *flowGroup) mayRun() bool { return g.most == 0 || g.running < g.most }

// add makes a request wait. The caller must hold mu.
func (q *Queue) add(g *flowGroup, name string) *waiter {
	f := g.flows[name]
	if f == nil {
		f = &flow{name: name}
		f.turn = g.turns.PushBack(f)
		g.flows[name] = f
	}
	w := &waiter{group: g, flow: f, started: make(chan struct{})}
	if q.newest {
		w.place = f.waiting.PushFront(w)
	} else {
		w.place = f.waiting.PushBack(w)
	}
	q.waiting++
	q.update(g)
	q.start()
	return w
}

// await waits until w has a place. It withdraws w when it returns an error.
func (q *Queue) await(ctx context.Context, w *waiter, wait time.Duration) error {
	var late <-chan time.Time
	if wait != untilDone {
		t := time.NewTimer(wait)
		defer t.Stop()
		late = t.C
	}
	var err error
	select {
	case <-w.started:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late:
		err = errTooLong
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.place == nil {
		return nil // it got its place at the same time
	}
	w.flow.waiting.Remove(w.place)
	q.waiting--
	if w.flow.waiting.Len() == 0 {
		w.group.turns.Remove(w.flow.turn)
		delete(w.group.flows, w.flow.name)
	}
	q.update(w.group)
	return err
}

// leave gives a place back, to the group whose turn it is if one waits.
func (q *Queue) leave(g *flowGroup) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	g.running--
	q.update(g)
	q.start()
}

// start gives free places to the groups whose turn it is.
func (q *Queue) start() {
	for q.running < q.places && q.eligible.Len() > 0 {
		g := q.eligible.Remove(q.eligible.Front()).(*flowGroup)
		g.eligible = nil
		w := g.next()
		q.waiting--
		q.running++
		g.running++
		q.update(g)
		close(w.started)
	}
}

// next takes the next waiting request of a group, whose flow then has its next turn after the others.
func (g *flowGroup) next() *waiter {
	f := g.turns.Remove(g.turns.Front()).(*flow)
	w := f.waiting.Remove(f.waiting.Front()).(*waiter)
	w.place = nil
	if f.waiting.Len() == 0 {
		delete(g.flows, f.name)
	} else {
		f.turn = g.turns.PushBack(f)
	}
	return w
}

// update puts g at the end of the eligible groups or takes it out, as the invariant of flowGroup demands,
// and forgets it when it neither runs nor waits.
func (q *Queue) update(g *flowGroup) {
	wants := len(g.flows) > 0 && g.mayRun()
	switch {
	case wants && g.eligible == nil:
		g.eligible = q.eligible.PushBack(g)
	case !wants && g.eligible != nil:
		q.eligible.Remove(g.eligible)
		g.eligible = nil
	}
	if g.running == 0 && len(g.flows) == 0 {
		delete(q.groups, g.name)
	}
}

// Numbers returns how many requests have a place and how many wait.
func (q *Queue) Numbers() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.waiting
}
