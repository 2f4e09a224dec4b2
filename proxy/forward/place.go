package forward

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// reasonTooMany is the Outcome.Reason of requests that found no place at the apiserver in time.
const reasonTooMany = "too-many-upstream"

// place is the place of one passed request at the apiserver. It is taken when the request is first sent: a client that stalls
// its body has none.
type place struct {
	forwarder *Forwarder
	info      *request.Info
	end       func() // ends a request that lasts in favor of another; it must not block
	taken     bool
	leave     func()
}

// take waits for the place, unless it was taken already. The error is a 429, of which it sets the reason if it is no
// *limits.Refused, or ctx.Err().
func (p *place) take(ctx context.Context) (err error) {
	f := p.forwarder
	switch {
	case p.taken || p.info.Placed:
		return nil
	case p.info.Caller == request.Unauthenticated:
		err = p.enter(ctx, f.options.Unauthenticated, message.NoPlace, flowcontrol.TooManyUnauthenticated)
	case flowcontrol.Lasts(p.info):
		err = p.last()
	default:
		err = p.enter(ctx, f.options.Queue, message.NoSeat, reasonTooMany)
	}
	p.taken = err == nil
	return err
}

func (p *place) enter(ctx context.Context, q *limits.Queue, refusal message.Message, reason string) (err error) {
	wait, cancel := context.WithTimeout(ctx, p.forwarder.options.Wait)
	defer cancel()
	leave, err := q.Enter(wait, p.info.Waits(), 1)
	switch {
	case err == nil:
		p.leave = leave
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		p.info.Outcome.Reason = reason
		return apierrors.NewTooManyRequests(refusal.Say(), response.RetryAfter)
	}
	return nil
}

// last takes a stream for a request that lasts, instead of its place.
func (p *place) last() error {
	h, err := p.info.Account.TakeUntil(p.forwarder.options.Lasting, p.end)
	if err == nil {
		p.release()
		p.leave = h.Release
	}
	return err
}

// accepted takes note that the apiserver has accepted the request. If that lasts, it is one of those that last from now on,
// also of an unauthenticated caller. The error is an *limits.Refused.
func (p *place) accepted() error {
	if p.info.Caller != request.Unauthenticated || !flowcontrol.Lasts(p.info) {
		return nil
	}
	return p.last()
}

// release gives the place back, if it was taken.
func (p *place) release() {
	if p.leave != nil {
		p.leave()
		p.leave = nil
	}
}
