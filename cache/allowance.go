package cache

import (
	"sync"
	"time"
)

// Cost bounds what the proofs of one store may cost the apiserver, on average. Zero values mean the
// defaults.
type Cost struct {
	// Share is the part of one core's time; 0 means 0.05. A request counts by its duration, but not by
	// more than the length of its response explains: an apiserver that waits for its own watch cache
	// works for others meanwhile.
	Share float64
	// BytesPerSecond bounds the length of the responses; 0 means 4 MiB.
	BytesPerSecond int64
}

func (c Cost) withDefaults() Cost {
	if c.Share == 0 {
		c.Share = 0.05
	}
	if c.BytesPerSecond == 0 {
		c.BytesPerSecond = 4 << 20
	}
	return c
}

const (
	// An apiserver takes about so long for a list of metadata, and for each byte of it.
	requestTime = 2 * time.Millisecond
	timePerByte = 40 * time.Nanosecond
)

// workOf returns the part of a request's duration that counts.
func workOf(took time.Duration, bytes int64) time.Duration {
	return min(took, requestTime+time.Duration(bytes)*timePerByte)
}

// allowanceSaved is for how long a store that is not read saves its allowance.
const allowanceSaved = 20 * time.Second

// allowance is what the proofs of one store may cost now. The cost of a request is known when it has
// ended, so an allowance may be overdrawn once and then has to recover.
type allowance struct {
	rate Cost

	mu      sync.Mutex // guards the fields below
	seconds float64    // of requests
	bytes   float64
	at      time.Time // when both were brought up to date
}

// newAllowance returns an allowance that has saved as much as it can.
func newAllowance(rate Cost) *allowance {
	a := &allowance{rate: rate.withDefaults(), at: time.Now()}
	a.seconds, a.bytes = a.most()
	return a
}

// most returns the most that can be saved.
func (a *allowance) most() (seconds, bytes float64) {
	return a.rate.Share * allowanceSaved.Seconds(), float64(a.rate.BytesPerSecond) * allowanceSaved.Seconds()
}

// covers reports whether a request whose response has this length is ever allowed.
func (a *allowance) covers(bytes int64) bool {
	mostSeconds, mostBytes := a.most()
	return workOf(time.Hour, bytes).Seconds() <= mostSeconds && float64(bytes) <= mostBytes
}

// wait returns how long it takes until the next request is allowed, 0 if it is allowed now.
func (a *allowance) wait() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recover()
	seconds := max(-a.seconds/a.rate.Share, -a.bytes/float64(a.rate.BytesPerSecond), 0)
	return time.Duration(seconds * float64(time.Second))
}

// charge takes the cost of a request off the allowance, and returns the seconds that count.
func (a *allowance) charge(took time.Duration, bytes int64) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recover()
	work := workOf(took, bytes).Seconds()
	a.seconds -= work
	a.bytes -= float64(bytes)
	return work
}

// recover adds what has accrued. The caller must hold mu.
func (a *allowance) recover() {
	now := time.Now()
	passed := now.Sub(a.at).Seconds()
	a.at = now
	mostSeconds, mostBytes := a.most()
	a.seconds = min(a.seconds+passed*a.rate.Share, mostSeconds)
	a.bytes = min(a.bytes+passed*float64(a.rate.BytesPerSecond), mostBytes)
}
