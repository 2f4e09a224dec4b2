package flowcontrol

import (
	"cmp"
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/request"
	"sluice/proxy/response"
)

// upstreamShare is the part of the places of a class that one user may take upstream, at most.
const upstreamShare = 2

// UpstreamLimits bounds the requests that are passed to the apiserver at the same time. Zero means the
// default.
type UpstreamLimits struct {
	Classes map[Class]int
	// Unauthenticated is the number for all requests of unauthenticated callers, whatever their class:
	// each has a connection of its own.
	Unauthenticated int
	// Wait is how long a request may wait for a place.
	Wait time.Duration
}

// defaultUpstreamLimits are half as much again as kube-apiserver's own limits, which are 400 reads and 200
// writes, so that its fair queues decide first.
var defaultUpstreamLimits = UpstreamLimits{
	Classes:         map[Class]int{Reads: 600, Writes: 300, Leases: 200, Watches: 4000, Sessions: 2000},
	Unauthenticated: 64,
	Wait:            10 * time.Second,
}

// Upstream gives out the places of requests that are passed to the apiserver, in the same classes and fair
// queues as Control: passed lists never take the places of writes, nor anything those of leases.
type Upstream struct {
	gates     map[Class]*gate
	anonymous *gate
}

// NewUpstream returns an Upstream.
func NewUpstream(l UpstreamLimits) *Upstream {
	u := &Upstream{gates: map[Class]*gate{}, anonymous: newGate(Limit{}, 0)}
	for _, class := range classes {
		u.gates[class] = newGate(Limit{}, 0)
	}
	u.SetLimits(l)
	return u
}

// SetLimits changes the limits. Requests that run go on.
func (u *Upstream) SetLimits(l UpstreamLimits) {
	d := defaultUpstreamLimits
	set := func(g *gate, total, byDefault int) {
		total = cmp.Or(total, byDefault)
		g.set(Limit{Total: total, PerUser: max(1, total/upstreamShare)}, cmp.Or(l.Wait, d.Wait))
	}
	set(u.anonymous, l.Unauthenticated, d.Unauthenticated)
	for _, class := range classes {
		set(u.gates[class], l.Classes[class], d.Classes[class])
	}
}

// Place is the place of one passed request, which takes it when it is first sent: a client that stalls its
// body holds no place. It is for one goroutine.
type Place struct {
	gate  *gate
	info  *request.Info
	class Class
	key   string
	leave func() // nil while the place is not taken
}

// Place returns the place for a request.
func (u *Upstream) Place(r *http.Request) *Place {
	info := request.From(r.Context())
	p := &Place{info: info, class: ClassOf(info), key: keyOf(r, info)}
	if p.gate = u.gates[p.class]; info.Caller == request.Unauthenticated {
		p.gate = u.anonymous
	}
	return p
}

// Take waits for the place, unless it is taken already. The error is a 429, of which it sets the reason, or
// ctx.Err().
func (p *Place) Take(ctx context.Context) error {
	if p.leave != nil {
		return nil
	}
	leave, err := p.gate.enter(ctx, p.key)
	switch {
	case ctx.Err() != nil && err != nil:
		return ctx.Err()
	case err != nil:
		p.info.Outcome.Reason = TooManyUpstream
		return apierrors.NewTooManyRequests("too many "+string(p.class)+" are in flight to the apiserver, please try again later", response.RetryAfter)
	}
	p.leave = leave
	return nil
}

// Leave gives the place back, if it was taken.
func (p *Place) Leave() {
	if p.leave != nil {
		p.leave()
	}
}
