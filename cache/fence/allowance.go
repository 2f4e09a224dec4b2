package fence

import (
	"sync"
	"time"
)

// Cost bounds the apiserver time and bytes of the proofs of one store, on average. Both are
// required.
type Cost struct {
	// Share is the part of one core's time. A request counts by its duration, but not by
	// more than the work that the length of its response explains: an apiserver that waits for its own
	// watch cache, or for a core, works for others meanwhile.
	Share float64
	// BytesPerSecond bounds the length of the responses.
	BytesPerSecond int64
}

const (
	// requestWork is the estimated cost of a request at the apiserver, in time of a core; each byte of a response
	// adds workPerByte, or metadataWork if the objects are reduced to their metadata. Under load the
	// response takes several times as long. kube-apiserver 1.37.2 with etcd takes about half of each: 0.5 ms for a probe and
	// 0.6 for 4 pods, 5.3 to 6.8 ns for a byte in Protobuf (14 in JSON), and 3.1 to 4.4 of metadata (CPU of the process by
	// schedstat without that when idle, medians of 7 rounds of 20 to 300 requests of 100, 1,000 and 5,000 pods). [Next]
	// compares prices, so halving them all changes none of testdata/decisions.txt; reads of busy resources would pass more
	// often in testdata/simulations.txt.
	requestWork  = time.Millisecond
	workPerByte  = 13 * time.Nanosecond
	metadataWork = 7 * time.Nanosecond
	// quickWork is the most work of a request that probably takes no longer than a second watch: a second.
	quickWork = 250 * time.Millisecond
	// probePause is the least time between two probes while the allowance is overdrawn.
	probePause = 20 * time.Millisecond
)

// readWork returns the estimated cost of a read at the apiserver.
func readWork(bytes int64) time.Duration { return requestWork + time.Duration(bytes)*workPerByte }

// inventoryWork returns the estimated cost of an inventory at the apiserver.
func inventoryWork(bytes int64) time.Duration { return requestWork + time.Duration(bytes)*metadataWork }

// allowanceSaved is for how long a store that is not read saves its allowance.
const allowanceSaved = 20 * time.Second

// allowance is the budget of the proofs of one store. The cost of a request is known when it has
// ended, so an allowance may be overdrawn once and then has to recover.
type allowance struct {
	rate func() Cost // may change at any time

	mu      sync.Mutex // guards the fields below
	seconds float64    // of requests
	bytes   float64
	at      time.Time // when both were brought up to date
}

// newAllowance returns an allowance that has saved as much as it can.
func newAllowance(rate func() Cost) *allowance {
	a := &allowance{rate: rate, at: time.Now()}
	a.seconds, a.bytes = a.rate().most()
	return a
}

// most returns the most that can be saved.
func (c Cost) most() (seconds, bytes float64) {
	return c.Share * allowanceSaved.Seconds(), float64(c.BytesPerSecond) * allowanceSaved.Seconds()
}

// wait returns how long it takes until the next request is allowed, 0 if it is allowed now.
func (a *allowance) wait() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	rate := a.recover()
	seconds := max(-a.seconds/rate.Share, -a.bytes/float64(rate.BytesPerSecond), 0)
	return time.Duration(seconds * float64(time.Second))
}

// empty reports whether no request is allowed now.
func (a *allowance) empty() bool { return a.wait() > 0 }

// charge takes the cost of a request off the allowance.
func (a *allowance) charge(work time.Duration, bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recover()
	a.seconds -= work.Seconds()
	a.bytes -= float64(bytes)
}

// recover adds the accrued budget, and returns the rate. The caller must hold mu.
func (a *allowance) recover() Cost {
	rate := a.rate()
	now := time.Now()
	passed := now.Sub(a.at).Seconds()
	a.at = now
	mostSeconds, mostBytes := rate.most()
	a.seconds = min(a.seconds+passed*rate.Share, mostSeconds)
	a.bytes = min(a.bytes+passed*float64(rate.BytesPerSecond), mostBytes)
	return rate
}
