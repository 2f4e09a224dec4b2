package limits

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

const (
	// share bounds a group: its places, waiting requests and fixed bytes of a Ledger are at most three times the free ones.
	share = 3
	// mostWaiting bounds the requests in Enter. One group may have three quarters, 24,576: more than twice a crowd of 10,000
	// agents.
	mostWaiting = 1 << 15
)

// errCrowded is the error of a request that may not even wait.
var errCrowded = errors.New("too many requests wait")

// Queue gives out places, some of which are reserved for system callers. The next place goes to the group that has the fewest.
// Groups with equally many alternate. Within a group the request that came first is next. A request for more places than are
// free keeps those behind it waiting, so that it gets them in the end.
type Queue struct {
	mu       sync.Mutex // guards all below
	common   pool
	reserved pool
	groups   map[groupKey]*group // with places, or with requests that wait
	others   ranking[*group]     // with requests that wait, the next one first
	system   ranking[*group]     // the same of system callers
	waiting  int
	turn     uint64
}

// pool is places and how many of them are taken.
type pool struct{ places, taken int }

func (p *pool) free() int { return p.places - p.taken }

// groupKey names a group, whose system callers are apart.
type groupKey struct {
	name   string
	system bool
}

// group is the requests of some callers that have places or wait.
type group struct {
	key     groupKey
	has     int       // places
	turn    uint64    // when it began to wait, or got its last places
	waiting list.List // of *request
	place   int       // in its ranking of Queue
}

func (g *group) first() *request { return g.waiting.Front().Value.(*request) }

func (g *group) before(other *group) bool {
	return g.has < other.has || g.has == other.has && g.turn < other.turn
}

func (g *group) position() *int { return &g.place }

// request is a request that waits, or has its places.
type request struct {
	group   *group
	n       int
	from    *pool         // nil while it waits
	waits   *list.Element // in group.waiting
	granted chan struct{} // closed when it has its places
	run     func()        // is called in a goroutine of its own then; nil if it waits for granted
}

// NewQueue returns a Queue with so many places, some of which are reserved for system callers.
func NewQueue(places, reserved int) *Queue {
	q := &Queue{groups: map[groupKey]*group{}}
	q.SetPlaces(places, reserved)
	return q
}

// SetPlaces changes the numbers of NewQueue. Requests keep the places that they have.
func (q *Queue) SetPlaces(places, reserved int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.common.places, q.reserved.places = max(1, places-reserved), reserved
	q.next()
}

// Enter waits for n places until ctx ends. leave gives them back; it may be called again. The error is that of ctx, or
// says that too many wait.
func (q *Queue) Enter(ctx context.Context, c Caller, n int) (leave func(), err error) {
	r, err := q.enter(c, n)
	if err != nil {
		return nil, err
	}
	if !r.hasPlaces() {
		select {
		case <-r.granted:
		case <-ctx.Done():
			q.leave(r)
			return nil, ctx.Err()
		}
	}
	return sync.OnceFunc(func() { q.leave(r) }), nil
}

// Go calls f in a goroutine of its own once it has a place, which leave gives back. No goroutine waits until then. cancel ends
// the wait.
func (q *Queue) Go(c Caller, f func(leave func())) (cancel func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := &request{n: 1, granted: make(chan struct{})}
	leave := sync.OnceFunc(func() { q.leave(r) })
	r.run = func() { f(leave) }
	q.join(c, r)
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if r.from == nil && r.waits != nil {
			q.end(r)
		}
	}
}

// TryEnter takes n places if they are free.
func (q *Queue) TryEnter(c Caller, n int) (leave func(), entered bool) {
	r, err := q.enter(c, n)
	if err != nil {
		return nil, false
	}
	leave = sync.OnceFunc(func() { q.leave(r) })
	if !r.hasPlaces() {
		leave()
		return nil, false
	}
	return leave, true
}

func (r *request) hasPlaces() bool {
	select {
	case <-r.granted:
		return true
	default:
		return false
	}
}

// Numbers returns how many places there are, how many of them are taken, and how many requests wait.
func (q *Queue) Numbers() (places, taken, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.common.places + q.reserved.places, q.common.taken + q.reserved.taken, q.waiting
}

// enter makes a request wait, or gives it its places.
func (q *Queue) enter(c Caller, n int) (*request, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := 0
	if g := q.groups[groupKey{c.Group, c.Reserved}]; g != nil {
		own = g.waiting.Len()
	}
	if own >= share*(mostWaiting-q.waiting) {
		return nil, errCrowded
	}
	r := &request{n: n, granted: make(chan struct{})}
	q.join(c, r)
	return r, nil
}

// join is enter for any number of requests. The caller must hold mu.
func (q *Queue) join(c Caller, r *request) {
	key := groupKey{c.Group, c.Reserved}
	g := q.groups[key]
	if g == nil {
		g = &group{key: key}
		q.groups[key] = g
	}
	if g.waiting.Len() == 0 {
		q.turn++
		g.turn = q.turn
	}
	r.group = g
	r.waits = g.waiting.PushBack(r)
	q.waiting++
	q.ranking(g).update(g, true)
	q.next()
}

// leave gives the places of a request back, or ends its wait.
func (q *Queue) leave(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end(r)
}

// end is leave. The caller must hold mu.
func (q *Queue) end(r *request) {
	g := r.group
	if r.from == nil {
		q.remove(r)
	} else {
		r.from.taken -= r.n
		g.has -= r.n
		q.ranking(g).update(g, g.waiting.Len() > 0)
	}
	q.forget(g)
	q.next()
}

// next gives the free places to those whose turn it is.
func (q *Queue) next() {
	for {
		g := q.system.first()
		if g != nil && g.first().n <= q.reserved.free() {
			q.grant(g.first(), &q.reserved)
			continue
		}
		if other := q.others.first(); g == nil || other != nil && other.before(g) {
			g = other
		}
		if g == nil || !q.fits(g) {
			return
		}
		q.grant(g.first(), &q.common)
	}
}

// fits reports whether the group may have the common places for its next request. One for more than there are gets all.
func (q *Queue) fits(g *group) bool {
	n := g.first().n
	left := q.common.free() - n
	return q.common.taken == 0 || left >= 0 && (g.has == 0 || g.has+n <= share*(left+1))
}

// grant gives a request its places.
func (q *Queue) grant(r *request, from *pool) {
	r.from = from
	from.taken += r.n
	r.group.has += r.n
	q.turn++
	r.group.turn = q.turn
	q.remove(r)
	close(r.granted)
	if r.run != nil {
		go r.run()
	}
}

// remove ends the wait of a request.
func (q *Queue) remove(r *request) {
	r.group.waiting.Remove(r.waits)
	r.waits = nil
	q.waiting--
	q.ranking(r.group).update(r.group, r.group.waiting.Len() > 0)
}

// ranking returns the ranking that a group waits in.
func (q *Queue) ranking(g *group) *ranking[*group] {
	if g.key.system {
		return &q.system
	}
	return &q.others
}

// forget drops a group that neither waits nor has a place.
func (q *Queue) forget(g *group) {
	if g.has == 0 && g.waiting.Len() == 0 {
		delete(q.groups, g.key)
	}
}
