package auth

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/trace"
)

// places bounds the reviews that run at the same time. Those without an earlier positive result take
// at most half of the places, so that a flood of them cannot displace known callers, and those who ask for
// them get places in turn. Those who present many rejected tokens have few places of their own, by the address in turn, and
// for the connections of one address, since each rejected token ends one.
//
// While stores are being filled, reviews without an earlier result use fewer places: clients that reconnect after a restart wait
// for the stores anyway, and the apiserver sends these much faster when it handles few reviews at the same time. The number
// follows from the shortest duration of a review, so that a slow network does not lower their rate.
type places struct {
	n                 int64
	before            *places // of reviews for which those without an earlier result make way; nil for none
	all               *semaphore.Weighted
	unknown, rejected *flowcontrol.Queue

	mu       sync.Mutex // guards what follows
	filling  bool
	made     int           // reviews of unknown callers since filling began
	quickest time.Duration // of these
}

const (
	// unknownPart divides the places for reviews without an earlier positive result, and fillingPart the least of them while
	// stores are being filled.
	unknownPart = 2
	fillingPart = 16
	// beforePart divides the places while reviews wait for which they make way: of the reviews of a crowd, whose members need one
	// of their token and two of their accesses, those of tokens are less than a third then.
	beforePart = 8
	// fillingRate is the approximate number of such reviews per second meanwhile, after fillingSample have been measured.
	fillingRate   = 500
	fillingSample = 8
)

func newPlaces(n int) *places {
	few := min(rejectedAtOnce, max(1, int64(n)/4))
	return &places{
		n: int64(n), all: semaphore.NewWeighted(int64(n)), unknown: flowcontrol.NewQueue(max(1, int64(n)/unknownPart)).NewestFirst().Shared(),
		rejected: flowcontrol.NewQueue(few).NewestFirst().Alternating(),
	}
}

// setFilling sets whether stores are filled.
func (p *places) setFilling(filling bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.filling, p.made, p.quickest = filling, 0, math.MaxInt64
	p.resize()
}

// took takes note of how long a review without an earlier result took, if it was answered.
func (p *places) took(d time.Duration, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.filling && answered {
		p.made, p.quickest = p.made+1, min(p.quickest, d)
	}
	if p.filling || p.before != nil {
		p.resize()
	}
}

// resize sets how many reviews without an earlier positive result run at the same time. The caller must hold mu.
func (p *places) resize() {
	places := p.n / unknownPart
	if p.filling {
		few := p.n / fillingPart
		if p.made >= fillingSample {
			few = max(few, int64(fillingRate*p.quickest.Seconds()))
		}
		places = min(places, few)
	}
	if p.before != nil {
		if _, waiting := p.before.unknown.Numbers(); waiting > 0 {
			places = min(places, p.n/beforePart)
		}
	}
	p.unknown.SetPlaces(max(1, places))
}

// place is what a running review holds of places.
type place struct {
	of    *places
	turn  *flowcontrol.Ticket // nil for a known review
	rests bool                // among those who present many rejected tokens
}

// leave frees the place of a review. After one more rejected token of those who present many, its turn rests for
// restFactor times as long as the review took: what they may cost follows from what it costs the apiserver. A review
// ends early when its callers have gone, but hardly for the apiserver.
func (p place) leave(ctx context.Context, took time.Duration, answered, rejected bool) {
	p.of.all.Release(1)
	if p.turn == nil {
		return
	}
	if !p.rests {
		p.of.took(took, answered)
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		time.AfterFunc(maxRest, p.turn.Leave)
	case p.rests && rejected:
		time.AfterFunc(min(restFactor*took, maxRest), p.turn.Leave)
	default:
		p.turn.Leave()
	}
}

// enter waits for a place.
func (p *places) enter(ctx context.Context, known bool, by asker) (place, error) {
	if known {
		return place{of: p}, p.acquire(ctx)
	}
	turn, rests, err := p.turn(ctx, by)
	switch {
	case err != nil && by.suspect != nil && errors.Is(err, context.DeadlineExceeded):
		return place{}, errCrowdedOut // what passed instead would cost the apiserver as much, and a connection besides
	case err != nil:
		return place{}, err
	}
	if err := p.acquire(ctx); err != nil {
		turn.Leave()
		return place{}, err
	}
	return place{p, turn, rests}, nil
}

// acquire waits for one of all places.
func (p *places) acquire(ctx context.Context) error {
	if p.all.TryAcquire(1) {
		return nil
	}
	_, queued := trace.Start(ctx, "queue")
	defer queued.End()
	return p.all.Acquire(ctx, 1)
}

// turn waits for the turn of an unknown review. If it is suspect by then, it waits again among such: the reviews before it have
// shown what to think of who asks.
func (p *places) turn(ctx context.Context, by asker) (t *flowcontrol.Ticket, rests bool, err error) {
	suspect := by.suspect != nil && by.suspect()
	for {
		queue := p.unknown
		if suspect {
			queue = p.rejected
		}
		t := queue.Join(by.key, 1, 0)
		if err := t.Wait(ctx); err != nil {
			return nil, false, err
		}
		if suspect || by.suspect == nil || !by.suspect() {
			return t, suspect, nil
		}
		t.Leave()
		suspect = true
	}
}
