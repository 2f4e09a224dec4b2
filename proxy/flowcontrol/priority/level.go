package priority

import (
	"context"
	"sync"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"sluice/proxy/accounts"
	"sluice/proxy/queue"
)

// level is a priority level. Its requests wait in a Queue of its own, and get to the library's queues when a
// seat is free for them: the library would give the next seat to those who keep theirs for long. As many
// requests of one account may wait as have a place in the library's queues of one flow, and as many of all
// as have one in all queues; when these are full, only one of each further account. Levels without queues,
// and the exempt level, are the library's alone.
type level struct {
	fq.QueueSet // of the library
	name        string
	wanted      metrics.Gauge // seats that its requests have or wait for, by which the library lends seats
	line        *queue.Queue
	slow        *accounts.Ledger // of responses that their clients accept slowly

	mu      sync.Mutex // guards what follows, and makes one step of its bounds and Join
	queuing fq.QueuingConfig
}

// unset is a gauge that the library does not set: it knows nothing of the requests in line.
type unset struct{ metrics.Gauge }

// Set implements metrics.Gauge.
func (unset) Set(float64) {}

// configure sets the queues and the number of seats.
func (l *level) configure(queues fq.QueueSet, c fq.QueuingConfig, seats int) {
	defer l.slow.Shrink(accounts.SlowResponses) // without mu
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.QueueSet == nil {
		l.QueueSet = queues // every later call has the same
	}
	l.queuing = c
	l.line.SetPlaces(int64(seats))
	l.boundSlow(0)
}

// slowOf returns how many of a level's seats slow responses may keep while others wait for seats.
func slowOf(seats int64) int64 { return max(1, seats/slowShare) }

// slowShare is the part of a level's seats that they may keep.
const slowShare = 3

// boundSlow sets how many seats slow responses may keep: all unless others wait, of whom one has begun to wait for so many, or
// nobody can wait. The caller must hold mu, and call Shrink without it.
func (l *level) boundSlow(wanted int) {
	most := l.line.Places()
	_, waiting := l.line.Numbers()
	switch {
	case l.queuing.DesiredNumQueues < 1:
		most = slowOf(most)
	case waiting > 0:
		now := l.slow.Usage(accounts.SlowResponses)
		most = max(slowOf(most), min(most, now.Used, now.Total)-int64(wanted))
	}
	l.slow.SetTotals(accounts.Totals{accounts.SlowResponses: most})
}

// IsIdle implements fq.QueueSet.
func (l *level) IsIdle() bool {
	seats, waiting := l.line.Numbers()
	return seats == 0 && waiting == 0 && l.QueueSet.IsIdle()
}

// StartRequest implements fq.QueueSet.
func (l *level) StartRequest(ctx context.Context, work *fcrequest.WorkEstimate, hash uint64, flow, schema string, info, user any,
	note fq.QueueNoteFn) (_ fq.Request, idle bool) {
	r := &levelRequest{level: l, ctx: ctx, schema: schema, seats: work.MaxSeats()}
	r.start = func() (fq.Request, bool) {
		return l.QueueSet.StartRequest(ctx, work, hash, flow, schema, info, user, note)
	}
	seat := user.(caller).seat
	queued, full := l.join(r, seat)
	l.slow.Shrink(accounts.SlowResponses)
	if full {
		metrics.AddReject(ctx, l.name, schema, "queue-full")
		return nil, false
	}
	if !queued {
		if r.library, idle = r.start(); r.library == nil {
			return nil, idle
		}
	}
	l.wanted.Add(float64(r.seats))
	return r, false
}

// join puts a request in line if the level has queues that are not full.
func (l *level) join(r *levelRequest, s *seat) (queued, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.queuing
	if c.DesiredNumQueues >= 0 {
		s.bounded, s.seats = l, r.seats
	}
	if c.DesiredNumQueues < 1 {
		return false, false
	}
	own := l.line.WaitingOf(s.account)
	_, all := l.line.Numbers()
	if own > 0 && (own >= c.HandSize*c.QueueLengthLimit || all >= c.DesiredNumQueues*c.QueueLengthLimit) {
		return false, true
	}
	if r.ticket = l.line.Join(s.account, int64(r.seats), 0); !r.ticket.HasStarted() {
		l.boundSlow(r.seats)
	}
	return true, false
}

// levelRequest is a request that a level has accepted.
type levelRequest struct {
	level   *level
	ctx     context.Context
	schema  string
	seats   int
	ticket  *queue.Ticket             // nil for one that was never in line
	start   func() (fq.Request, bool) // gives it to the library
	library fq.Request                // the library's; nil before, and if the library refuses it
}

// Finish implements fq.Request. It waits for a seat, executes the request, and gives the seat back.
func (r *levelRequest) Finish(execute func()) (idle bool) {
	defer func() {
		if r.ticket != nil {
			r.ticket.Leave()
		}
		r.level.wanted.Add(-float64(r.seats))
		idle = r.level.IsIdle()
	}()
	if r.ticket != nil && r.wait() {
		r.library, _ = r.start()
	}
	if r.library != nil {
		r.library.Finish(execute)
	}
	return
}

// wait waits in line, where a request counts as one in the library's queues does.
func (r *levelRequest) wait() bool {
	defer r.level.relax()
	if r.ticket.HasStarted() {
		return true
	}
	count := func(n int) {
		metrics.AddRequestsInQueues(r.ctx, r.level.name, r.schema, n)
		metrics.AddSeatsInQueues(r.ctx, r.level.name, r.schema, n*r.seats)
	}
	count(1)
	err := r.ticket.Wait(r.ctx)
	count(-1)
	if err != nil {
		metrics.AddReject(r.ctx, r.level.name, r.schema, "time-out")
	}
	return err == nil
}

// relax lets slow responses keep all seats again once nobody waits.
func (l *level) relax() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.boundSlow(0)
}
