package flowcontrol

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is a number per second, of requests of a user or of connections of an address.
type Rate struct {
	PerSecond float64
	Burst     int // how many may come at once
}

// rates holds a token bucket for each user or address that was seen recently.
type rates struct {
	mu      sync.Mutex // guards all below
	rate    Rate
	buckets map[string]*rate.Limiter
	sweepAt int // number of buckets at which full ones are dropped
}

const minSweep = 1024

func newRates(r Rate) *rates {
	return &rates{rate: r, buckets: map[string]*rate.Limiter{}, sweepAt: minSweep}
}

// set changes the rate of all buckets.
func (r *rates) set(to Rate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rate = to
	for _, b := range r.buckets {
		b.SetLimit(rate.Limit(to.PerSecond))
		b.SetBurst(to.Burst)
	}
}

// allow takes a token from the bucket of key, and reports whether there was one.
func (r *rates) allow(key string, now time.Time) bool {
	r.mu.Lock()
	b := r.buckets[key]
	if b == nil {
		if len(r.buckets) >= r.sweepAt {
			r.sweep(now)
		}
		b = rate.NewLimiter(rate.Limit(r.rate.PerSecond), r.rate.Burst)
		r.buckets[key] = b
	}
	r.mu.Unlock()
	return b.AllowN(now, 1)
}

// sweep drops full buckets, which equal new ones.
func (r *rates) sweep(now time.Time) {
	for key, b := range r.buckets {
		if b.TokensAt(now) >= float64(r.rate.Burst) {
			delete(r.buckets, key)
		}
	}
	r.sweepAt = max(minSweep, 2*len(r.buckets))
}
