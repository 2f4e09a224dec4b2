package priority

import (
	"container/list"
	"context"
	"sync"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// level hands the requests of a priority level over to the queues of the library:
//
//   - those of a tenant that has less than its share of the seats, at once: an equal part for each tenant
//     that has requests in the level, but at least one request;
//   - the others when a seat is free that no request in the queues waits for. Until then they wait in
//     front of the queues, where tenants take turns, and within each tenant its members.
//
// So no seat is unused while a request waits, and the next free seat goes to a tenant below its share if
// one waits. As many requests of one member may wait in front as have a place in the queues of one flow,
// and as many of all as have a place in all queues; when these are full, only one of each further member.
// Levels without queues, and the exempt level, are the library's alone.
type level struct {
	fq.QueueSet // of the library
	demand      *demand

	mu      sync.Mutex // guards what follows; it is locked before the library's own
	queuing fq.QueuingConfig
	limit   int                // seats
	taken   int                // seats of the requests that the library has, executing or in its queues
	tenants map[string]*tenant // those that have requests
	inFront int                // requests that wait in front
	turns   list.List          // of the tenants with requests in front
}

// configure sets the queues and the number of seats.
func (l *level) configure(queues fq.QueueSet, c fq.QueuingConfig, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.QueueSet == nil {
		l.QueueSet = queues // every later call has the same
	}
	l.queuing, l.limit = c, limit
	l.advance()
}

// StartRequest implements fq.QueueSet.
func (l *level) StartRequest(ctx context.Context, work *fcrequest.WorkEstimate, hash uint64, flow, schema string, info, user any, note fq.QueueNoteFn) (fq.Request, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queuing.DesiredNumQueues < 1 {
		return l.QueueSet.StartRequest(ctx, work, hash, flow, schema, info, user, note)
	}
	r := &levelRequest{level: l, ctx: ctx, schema: schema, account: user.(caller).account, seats: work.MaxSeats()}
	r.start = func() (fq.Request, bool) {
		return l.QueueSet.StartRequest(ctx, work, hash, flow, schema, info, user, note)
	}
	r.tenant = l.tenantOf(r.account.tenant)
	if r.tenant.turns.Len() == 0 && l.hasShare(r) || l.inFront == 0 && l.hasFree(r) {
		if idle := l.handOver(r); r.library == nil {
			return nil, idle
		}
		return r, false
	}
	if !l.mayWait(r) {
		l.forget(r.tenant)
		metrics.AddReject(ctx, l.queuing.Name, schema, "queue-full")
		return nil, false
	}
	l.wait(r)
	return r, false
}

// hasShare reports whether the tenant of r has less than its share.
func (l *level) hasShare(r *levelRequest) bool {
	return r.tenant.taken == 0 || r.tenant.taken+r.seats <= l.limit/len(l.tenants)
}

// hasFree reports whether seats are free that no request in the queues waits for.
func (l *level) hasFree(r *levelRequest) bool { return l.taken == 0 || l.taken+r.seats <= l.limit }

// mayWait reports whether one more request may wait in front.
func (l *level) mayWait(r *levelRequest) bool {
	own := r.tenant.waitingOf(r.account.member)
	return own == 0 || own < l.queuing.HandSize*l.queuing.QueueLengthLimit && l.inFront < l.queuing.DesiredNumQueues*l.queuing.QueueLengthLimit
}

// advance hands requests in front over, in turn, while seats are free.
func (l *level) advance() {
	for e := l.turns.Front(); e != nil; e = l.turns.Front() {
		t := e.Value.(*tenant)
		if !l.hasFree(t.next()) {
			return
		}
		l.turns.MoveToBack(e)
		l.handOver(l.unwait(t.next()))
	}
}

// finished takes back what a request had, after the library has.
func (l *level) finished(r *levelRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := r.tenant
	l.taken -= r.seats
	t.taken -= r.seats
	for t.turns.Len() > 0 && l.hasShare(t.next()) {
		l.handOver(l.unwait(t.next()))
	}
	l.forget(t)
	l.advance()
}

// handOver gives a request to the library, which may refuse it.
func (l *level) handOver(r *levelRequest) (idle bool) {
	if r.library, idle = r.start(); r.library != nil {
		l.taken += r.seats
		r.tenant.taken += r.seats
	}
	if r.handedOver != nil {
		close(r.handedOver)
	}
	l.forget(r.tenant)
	return idle
}

// wait lets a request wait in front.
func (l *level) wait(r *levelRequest) {
	r.handedOver = make(chan struct{})
	r.tenant.add(r)
	if r.tenant.turn == nil {
		r.tenant.turn = l.turns.PushBack(r.tenant)
	}
	l.countInFront(r, 1)
}

// unwait ends the wait of a request in front.
func (l *level) unwait(r *levelRequest) *levelRequest {
	t := r.tenant
	t.remove(r)
	if t.turns.Len() == 0 {
		l.turns.Remove(t.turn)
		t.turn = nil
	}
	l.countInFront(r, -1)
	return r
}

// countInFront counts a request in front, as the library counts one in its queues.
func (l *level) countInFront(r *levelRequest, n int) {
	l.inFront += n
	l.demand.addInFront(n * r.seats)
	metrics.AddRequestsInQueues(r.ctx, l.queuing.Name, r.schema, n)
	metrics.AddSeatsInQueues(r.ctx, l.queuing.Name, r.schema, n*r.seats)
}

func (l *level) tenantOf(name string) *tenant {
	t := l.tenants[name]
	if t == nil {
		t = &tenant{name: name}
		l.tenants[name] = t
	}
	return t
}

// forget drops a tenant without requests.
func (l *level) forget(t *tenant) {
	if t.taken == 0 && t.turns.Len() == 0 {
		delete(l.tenants, t.name)
	}
}
