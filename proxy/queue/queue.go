package queue

import (
	"container/list"
	"context"
	"sync"

	"sluice/proxy/accounts"
	"sluice/proxy/heap"
)

// Queue gives out places, for which requests wait. The next ones go to the group of accounts that has the
// fewest, of equal ones to the group whose turn it is, and within a group to its accounts in turn: somebody
// with many requests delays others by one request at most. A request for more places than are free keeps
// those behind it waiting, so that it gets them in the end; one for more than there are runs alone.
//
// A Queue does not bound how many wait: their accounts count the memory that they hold.
type Queue struct {
	newest     bool // of one account, the newest and the oldest come in turn
	alternates bool // every other place of a group goes to its newest account
	shared     bool // no group has all places

	mu       sync.Mutex // guards all below, and the tickets
	places   int64
	running  int64 // places that are taken
	waiting  int   // requests that wait
	groups   map[string]*flowGroup
	eligible heap.Heap[*flowGroup] // the groups that wait and may run, the one first that has the next turn
	turn     uint64                // of the group that became eligible last
}

// flowGroup is the requests of a group of accounts that run or wait.
type flowGroup struct {
	name    string
	most    int64 // places that it may have at once; 0 for no bound of its own
	running int64 // places that it has
	flows   map[string]*flow
	turns   list.List // of the flows, in turn
	last    bool      // the next place goes to the newest flow
	turn    uint64
	place   int // in Queue.eligible
}

// flow is the waiting requests of one account.
type flow struct {
	name    string
	turn    *list.Element // in flowGroup.turns
	waiting list.List     // of *Ticket, those first that came last if Queue.newest
	oldest  bool          // the next one is the one that has waited longest
}

// next returns the request whose turn it is.
func (f *flow) next() *Ticket {
	e := f.waiting.Front()
	if f.oldest {
		e = f.waiting.Back()
	}
	return e.Value.(*Ticket)
}

// Ticket is a request at a Queue: it waits for its places, or has them.
type Ticket struct {
	queue   *Queue
	group   *flowGroup
	n       int64 // places
	flow    *flow
	place   *list.Element // in flow.waiting; nil once started
	started chan struct{} // closed when it has its places, or leaves
	left    bool
}

// New returns a Queue with so many places.
func New(places int64) *Queue {
	before := func(a, b *flowGroup) bool { return a.running < b.running || a.running == b.running && a.turn < b.turn }
	return &Queue{
		places: places, groups: map[string]*flowGroup{},
		eligible: heap.New(before, func(g *flowGroup) *int { return &g.place }),
	}
}

// NewestFirst makes the newest request of an account the first, so that one which arrives behind a flood
// of others does not wait for them, and the oldest the next: of a crowd that is one account, nobody waits until all others
// have come. It must be called before Join.
func (q *Queue) NewestFirst() *Queue {
	q.newest = true
	return q
}

// Alternating gives every other turn of a group to the account that began to wait last: among many that come again and again,
// most wait little, and none longer than twice its turn. It must be called before Join.
func (q *Queue) Alternating() *Queue {
	q.alternates = true
	return q
}

// Shared leaves a quarter of the places to others, whichever group asks for more. It must be called before Join.
func (q *Queue) Shared() *Queue {
	q.shared = true
	return q
}

// SetPlaces changes the number of places. Requests that run beyond it go on.
func (q *Queue) SetPlaces(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n == q.places {
		return
	}
	q.places = n
	for _, g := range q.groups { // their share has changed; of those where nothing runs it is never used up
		if g.running > 0 {
			q.update(g)
		}
	}
	q.start()
}

// Places returns how many places there are.
func (q *Queue) Places() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.places
}

// Enter waits for a place until ctx ends. leave gives it back.
func (q *Queue) Enter(ctx context.Context, k accounts.Key) (leave func(), err error) {
	t := q.Join(k, 1, 0)
	return t.Leave, t.Wait(ctx)
}

// started is the channel of the requests that need not wait.
var started = make(chan struct{})

func init() { close(started) }

// Join asks for n places for an account whose group may have most places at once, or as many as any group if most is
// 0. The caller must call Leave.
func (q *Queue) Join(k accounts.Key, n, most int64) *Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.groups[k.Group]
	if g == nil {
		g = &flowGroup{name: k.Group}
		q.groups[k.Group] = g
	}
	g.most = most
	t := &Ticket{queue: q, group: g, n: n, started: started}
	if len(q.eligible.All) == 0 && len(g.flows) == 0 && q.fits(t) && q.share(t) {
		q.running += n
		g.running += n
		return t
	}
	t.started = make(chan struct{})
	q.add(t, k.Name)
	q.update(g)
	q.start()
	return t
}

// HasStarted reports whether the request has its places.
func (t *Ticket) HasStarted() bool {
	select {
	case <-t.started:
		return true
	default:
		return false
	}
}

// Wait waits until the request has its places, or leaves the Queue, as it does if ctx ends first.
func (t *Ticket) Wait(ctx context.Context) error {
	if t.HasStarted() { // although ctx may have ended, too
		return nil
	}
	select {
	case <-t.started:
		return nil
	case <-ctx.Done():
		t.Leave()
		return ctx.Err()
	}
}

// Leave gives the places back, or ends the wait. It may be called again.
func (t *Ticket) Leave() {
	q, g := t.queue, t.group
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case t.left:
		return
	case t.place != nil:
		q.remove(t)
		close(t.started)
	default:
		q.running -= t.n
		g.running -= t.n
	}
	t.left = true
	q.update(g)
	q.start() // the next may need fewer places
}

// Next returns whose request is the next to get its places, and false if none waits for them.
func (q *Queue) Next() (k accounts.Key, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.eligible.All) == 0 {
		return accounts.Key{}, false
	}
	t := q.eligible.All[0].next()
	return accounts.Key{Group: t.group.name, Name: t.flow.name}, true
}

// Numbers returns how many places are taken and how many requests wait.
func (q *Queue) Numbers() (running int64, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.waiting
}

// WaitingOf returns how many requests of an account wait.
func (q *Queue) WaitingOf(k accounts.Key) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if g := q.groups[k.Group]; g != nil && g.flows[k.Name] != nil {
		return g.flows[k.Name].waiting.Len()
	}
	return 0
}

// fits reports whether the places are free, or nobody has any.
func (q *Queue) fits(t *Ticket) bool { return q.running == 0 || q.running+t.n <= q.places }

// share reports whether the group may have the places, or has none.
func (q *Queue) share(t *Ticket) bool {
	most := t.group.most
	if most == 0 && q.shared {
		most = max(1, q.places*3/4)
	}
	return most == 0 || t.group.running == 0 || t.group.running+t.n <= most
}

// next returns the waiting request of a group whose turn it is.
func (g *flowGroup) next() *Ticket {
	e := g.turns.Front()
	if g.last {
		e = g.turns.Back()
	}
	return e.Value.(*flow).next()
}

// add makes a request wait.
func (q *Queue) add(t *Ticket, account string) {
	f := t.group.flows[account]
	if f == nil {
		f = &flow{name: account}
		f.turn = t.group.turns.PushBack(f)
		if t.group.flows == nil { // few groups wait
			t.group.flows = map[string]*flow{}
		}
		t.group.flows[account] = f
	}
	t.flow = f
	if q.newest {
		t.place = f.waiting.PushFront(t)
	} else {
		t.place = f.waiting.PushBack(t)
	}
	q.waiting++
}

// remove ends the wait of a request.
func (q *Queue) remove(t *Ticket) {
	t.flow.waiting.Remove(t.place)
	t.place = nil
	q.waiting--
	if t.flow.waiting.Len() == 0 {
		t.group.turns.Remove(t.flow.turn)
		delete(t.group.flows, t.flow.name)
	}
}

// start gives free places to those whose turn it is.
func (q *Queue) start() {
	for len(q.eligible.All) > 0 {
		g := q.eligible.All[0]
		t := g.next()
		if !q.fits(t) {
			return
		}
		g.turns.MoveToBack(t.flow.turn)
		g.last = q.alternates && !g.last
		t.flow.oldest = q.newest && !t.flow.oldest
		q.remove(t)
		q.eligible.Update(g, false) // its next turn is after the others
		q.running += t.n
		g.running += t.n
		q.update(g)
		close(t.started)
	}
}

// update makes g eligible if it waits and may run, and forgets it when it neither runs nor waits.
func (q *Queue) update(g *flowGroup) {
	wants := len(g.flows) > 0 && q.share(g.next())
	if wants && g.place == 0 {
		q.turn++
		g.turn = q.turn
	}
	q.eligible.Update(g, wants)
	if g.running == 0 && len(g.flows) == 0 {
		delete(q.groups, g.name)
	}
}
