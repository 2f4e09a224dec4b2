package flowcontrol

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/accounts"
	"sluice/proxy/message"
	"sluice/proxy/queue"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// TooManyUpstream is the reason of a request that found no place at the apiserver in time.
const TooManyUpstream = "too-many-upstream"

// TooManyUnauthenticated is the same of a caller that is not authenticated. Alerts do not count it: anybody can
// cause it.
const TooManyUnauthenticated = "too-many-unauthenticated"

// Lasts reports whether a request goes on for as long as its client likes: a watch, or a session such as
// exec, attach, port-forward, logs, and whatever is proxied to nodes, pods and services.
func Lasts(info *request.Info) bool { return info.Upgrade || info.Proxied() || info.Verb == "watch" }

// Seats are the places at the apiserver of requests that do not last.
type Seats interface {
	// Take waits for a place for a request. The error is a *StatusError to respond with, or ctx.Err().
	Take(ctx context.Context, r *http.Request) (Seat, error)
}

// Seat is a place at the apiserver.
type Seat interface {
	// Leave gives the place back. It may be called again.
	Leave()
	// Slow counts the response as one that its client accepts slowly: they have a bounded part of the places. end ends it
	// in favor of another. The error is an *accounts.Refused if it must end at once.
	Slow(end func()) error
}

// Upstream gives out the places of requests that are passed to the apiserver: seats, places of their own
// for callers that are not authenticated, each of whom has a connection of its own, and streams for
// requests that last.
type Upstream struct {
	seats     Seats
	strangers *queue.Queue
	wait      atomic.Int64 // a time.Duration
}

// NewUpstream returns an Upstream with so many places for callers that are not authenticated, for which a request waits
// no longer than wait.
func NewUpstream(seats Seats, strangers int, wait time.Duration) *Upstream {
	u := &Upstream{seats: seats, strangers: queue.New(0).Shared()}
	u.SetStrangers(strangers, wait)
	return u
}

// SetStrangers changes how many such places there are, and how long requests wait from now on.
func (u *Upstream) SetStrangers(places int, wait time.Duration) {
	u.wait.Store(int64(wait))
	u.strangers.SetPlaces(int64(places))
}

// Place is the place of one passed request, which takes it when it is first sent: a client that stalls its
// body holds no place.
type Place struct {
	upstream *Upstream
	request  *http.Request
	info     *request.Info
	end      func()

	mu    sync.Mutex // guards what follows
	taken bool
	slow  bool
	seat  Seat // nil unless it is one
	leave func()

	crowded atomic.Bool
}

// TooManySlow is the reason of a response that ended because it was one of too many slow ones.
var TooManySlow = (&accounts.Refused{Resource: accounts.SlowResponses}).Reason()

// Crowded reports whether the response ended as one of too many slow ones.
func (p *Place) Crowded() bool { return p.crowded.Load() }

// Place returns the place for a request. end ends the request, if it has to make room for others; it is
// called at most once and must not block. The caller must call Leave.
func (u *Upstream) Place(r *http.Request, end func()) *Place {
	return &Place{upstream: u, request: r, info: request.From(r.Context()), end: sync.OnceFunc(end), leave: func() {}}
}

// Take waits for the place, unless it was taken already. The error is a 429, of which it sets the reason if it
// is no *accounts.Refused, or ctx.Err().
func (p *Place) Take(ctx context.Context) error {
	p.mu.Lock()
	taken := p.taken
	p.mu.Unlock()
	if taken {
		return nil
	}
	leave, err := p.take(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.info.Outcome.Reason = TooManyUpstream
		if p.info.Caller == request.Unauthenticated {
			p.info.Outcome.Reason = TooManyUnauthenticated
		}
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken, p.leave = true, leave
	return nil
}

func (p *Place) take(ctx context.Context) (leave func(), err error) {
	switch {
	case p.info.Caller == request.Unauthenticated:
		wait, cancel := context.WithTimeout(ctx, time.Duration(p.upstream.wait.Load()))
		defer cancel()
		if leave, err = p.upstream.strangers.Enter(wait, keyOf(p.request, p.info)); err != nil {
			err = apierrors.NewTooManyRequests(message.NoPlace.Say(), response.RetryAfter)
		}
		return leave, err
	case Lasts(p.info):
		g, err := p.info.Account.TakeRevocable(accounts.Streams, 1, p.end)
		return g.Release, err
	}
	if p.seat, err = p.upstream.seats.Take(ctx, p.request); err != nil {
		return nil, err
	}
	return p.seat.Leave, nil
}

// Accepted takes note that the apiserver has accepted the request. If that lasts, it has a stream from now on, also of a caller
// whom Sluice does not know. The error is an *accounts.Refused.
func (p *Place) Accepted() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.info.Caller != request.Unauthenticated || !p.taken || !Lasts(p.info) {
		return nil
	}
	g, err := p.info.Account.TakeRevocable(accounts.Streams, 1, p.end)
	if err == nil {
		p.leave()
		p.leave = g.Release
	}
	return err
}

// Slow takes note that the client accepts the response more slowly than the apiserver sends it. The response goes on as
// one of a bounded number of slow ones, or ends.
func (p *Place) Slow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.taken || p.slow || Lasts(p.info) {
		return
	}
	p.slow = true
	end := func() {
		p.crowded.Store(true)
		p.end()
	}
	g, err := p.info.Account.TakeRevocable(accounts.SlowResponses, 1, end)
	leave := p.leave
	p.leave = func() {
		g.Release()
		leave()
	}
	switch {
	case err == nil && p.seat != nil:
		err = p.seat.Slow(end)
	case err == nil:
		leave() // of a caller without a seat
	}
	if err != nil {
		end()
	}
}

// Leave gives the place back, if it was taken.
func (p *Place) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave()
	p.leave, p.slow = func() {}, true // Slow may come late
}
