package auth

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/proxy/queue"
)

// places bounds the reviews that run at the same time. Those without an earlier positive result take
// at most half of the places, so that a flood of them cannot displace known callers, and callers
// get these in turn. Callers with many rejected tokens have few places of their own, by the address in turn, and
// for the connections of one address, since each rejected token ends one.
//
// Reviews without an earlier result have fewer places at times, but enough for fewRate reviews a second: while stores are being
// filled, since clients that reconnect after a restart wait for the stores anyway, and the apiserver sends these much faster when it
// handles few reviews at the same time; and those of tokens while those of accesses wait, since authenticated callers hold
// more memory.
type places struct {
	n                 int64
	all               *semaphore.Weighted
	unknown, rejected *queue.Queue

	// While unknown reviews wait for places of yieldsTo there are fewer of these, and in the same way fewer of yielding; nil for none.
	yieldsTo, yielding *places

	mu       sync.Mutex // guards what follows
	filling  bool
	answered int           // reviews of unknown callers
	quickest time.Duration // of the last ones of these
	measured time.Time     // when the last one ended
}

const (
	// unknownPart divides the places for reviews without an earlier positive result. The others divide the least of them, while
	// stores are being filled and while reviews wait to which they yield: of the reviews of a crowd, whose members need one of
	// their token and two of their accesses, a fourth are of tokens then.
	unknownPart  = 2
	fillingPart  = 16
	yieldingPart = 8
	// fewPlaces is how many there are at least.
	fewPlaces = 2
	// fewRate is for how many reviews a second there are places at least, once fewSample have told how long one takes.
	fewRate   = 500
	fewSample = 8
	// quickestFor is how long the shortest duration of a review counts, about: the duration in a crowd is no measure, since its own
	// reviews wait for each other.
	quickestFor = time.Minute
)

func newPlaces(n int) *places {
	few := min(rejectedAtOnce, max(1, int64(n)/4))
	return &places{
		n: int64(n), all: semaphore.NewWeighted(int64(n)), unknown: queue.New(max(1, int64(n)/unknownPart)).NewestFirst().Shared(),
		rejected: queue.New(few).NewestFirst().Alternating(),
	}
}

// yieldTo makes unknown reviews have fewer places while those of others wait.
func (p *places) yieldTo(others *places) { p.yieldsTo, others.yielding = others, p }

// setFilling sets whether stores are filled.
func (p *places) setFilling(filling bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.filling = filling
	p.resize()
}

// took takes note of how long a review took that was answered.
func (p *places) took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.answered++; p.answered == 1 {
		p.quickest = d
	}
	age := min(now.Sub(p.measured), quickestFor).Seconds() / quickestFor.Seconds()
	p.quickest, p.measured = min(d, p.quickest+time.Duration(age*float64(p.quickest))), now
}

// update sets how many reviews without an earlier positive result run at the same time. It may be called on nil.
func (p *places) update() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resize()
}

// resize is update under mu.
func (p *places) resize() {
	most := max(1, p.n/unknownPart)
	places := most
	switch {
	case p.filling:
		places = p.few(fillingPart)
	case p.yieldsTo != nil:
		if _, waiting := p.yieldsTo.unknown.Numbers(); waiting > 0 {
			places = p.few(yieldingPart)
		}
	}
	p.unknown.SetPlaces(min(most, places))
}

// few returns a part of the places, but as many as it takes for fewRate reviews a second.
func (p *places) few(part int64) int64 {
	few := max(fewPlaces, p.n/part)
	if p.answered < fewSample {
		return few
	}
	return max(few, int64(fewRate*p.quickest.Seconds()))
}

// place is the place of a running review.
type place struct {
	of    *places
	turn  *queue.Ticket // nil for a known review
	rests bool          // among those who present many rejected tokens
}

// leave frees the place of a review. After one more rejected token of a caller with many, its place rests for
// restFactor times as long as the review took: their share of the apiserver is bounded by that. A review
// ends early when its callers have gone, but hardly for the apiserver.
func (p place) leave(ctx context.Context, took time.Duration, answered, rejected bool) {
	p.of.all.Release(1)
	if p.turn == nil {
		return
	}
	if answered && !p.rests {
		p.of.took(took)
	}
	defer p.of.update()
	defer p.of.yielding.update()
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
		return place{of: p}, p.all.Acquire(ctx, 1)
	}
	p.update()
	turn, rests, err := p.turn(ctx, by)
	switch {
	case err != nil && by.suspect != nil && errors.Is(err, context.DeadlineExceeded):
		return place{}, errCrowdedOut // what passed instead would cost the apiserver as much, and a connection besides
	case err != nil:
		return place{}, err
	}
	if err := p.all.Acquire(ctx, 1); err != nil {
		turn.Leave()
		return place{}, err
	}
	return place{p, turn, rests}, nil
}

// turn waits for the turn of an unknown review. If it is suspect by then, it waits again among such: the reviews before it have
// made its caller suspect.
func (p *places) turn(ctx context.Context, by asker) (t *queue.Ticket, rests bool, err error) {
	suspect := by.suspect != nil && by.suspect()
	for {
		line := p.unknown
		if suspect {
			line = p.rejected
		}
		t := line.Join(by.key, 1, 0)
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
