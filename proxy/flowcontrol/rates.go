package flowcontrol

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is a number of requests per second and user.
type Rate struct {
	PerSecond float64
	Burst     int // how many requests may come at once
}

// rates holds a token bucket for each user who has recently made a request.
type rates struct {
	rate Rate

	mu      sync.Mutex // guards all below
	buckets map[string]*rate.Limiter
	sweepAt int // number of buckets at which full ones are dropped
}

const minSweep = 1024

func newRates(r Rate) *rates {
	return &rates{rate: r, buckets: map[string]*rate.Limiter{}, sweepAt: minSweep}
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
