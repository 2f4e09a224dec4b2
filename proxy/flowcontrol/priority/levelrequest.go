package priority

import (
	"container/list"
	"context"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
)

// levelRequest is a request that a level has accepted.
type levelRequest struct {
	level   *level
	ctx     context.Context
	schema  string
	account account
	tenant  *tenant
	seats   int
	start   func() (fq.Request, bool) // gives it to the library

	place      *list.Element // in its line; nil unless it waits in front
	handedOver chan struct{} // closed when it no longer waits in front; nil if it never did
	library    fq.Request    // the library's; nil before, and if the library refuses it
}

// Finish implements fq.Request. It waits for a seat, executes the request, and gives the seat back.
func (r *levelRequest) Finish(execute func()) (idle bool) {
	if r.handedOver != nil {
		select {
		case <-r.handedOver:
		case <-r.ctx.Done():
			r.withdraw()
		}
	}
	if r.library == nil {
		return r.level.IsIdle()
	}
	idle = r.library.Finish(execute)
	r.level.finished(r)
	return idle
}

// withdraw ends the wait in front, unless it has ended already.
func (r *levelRequest) withdraw() {
	l := r.level
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.place == nil {
		return
	}
	l.unwait(r)
	metrics.AddReject(r.ctx, l.queuing.Name, r.schema, "time-out")
	l.forget(r.tenant)
	l.advance() // the next may need fewer seats
}
