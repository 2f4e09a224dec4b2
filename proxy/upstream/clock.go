package upstream

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// clockSamples is how many responses are compared. Their median counts, so that a minority may come from another clock.
	clockSamples = 9
	// clockRounding is the most by which a sample is wrong: Date is in whole seconds, and a response under way for longer is
	// left out.
	clockRounding = time.Second
	// clockSkew is the skew beyond which ages follow the apiserver's clock. Kubernetes prints ages as if clocks could differ by it.
	clockSkew = 2 * time.Second
)

// Clock is the clock of the apiserver, by the Date of its responses. The zero value is the machine's clock.
type Clock struct {
	mu      sync.Mutex
	samples []time.Duration // the last ones, the oldest first; guarded by mu

	skew   atomic.Int64 // the median of the samples, in nanoseconds
	offset atomic.Int64 // what Now adds, in nanoseconds
}

// Now returns the time by the apiserver's clock if the machine's differs by more than two seconds, else the machine's.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// Skew returns by how much the apiserver's clock is ahead of the machine's, give or take a second.
func (c *Clock) Skew() time.Duration { return time.Duration(c.skew.Load()) }

// observe takes the Date of a response to a request that was sent and received at these times of the machine. A response
// that has an Age comes from a cache between, and its Date is of earlier.
func (c *Clock) observe(header http.Header, sent, received time.Time) {
	date, err := http.ParseTime(header.Get("Date"))
	elapsed := received.Sub(sent)
	if err != nil || header.Get("Age") != "" || elapsed < 0 || elapsed > clockRounding {
		return
	}
	ahead := date.Add(clockRounding / 2).Sub(sent.Add(elapsed / 2))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.samples = append(c.samples, ahead)
	c.samples = c.samples[max(0, len(c.samples)-clockSamples):]
	sorted := slices.Sorted(slices.Values(c.samples))
	median := sorted[len(sorted)/2]
	c.skew.Store(int64(median))
	switch change := (median - time.Duration(c.offset.Load())).Abs(); {
	case change <= clockRounding: // may be the same skew
	case median.Abs() > clockSkew+clockRounding/2:
		c.offset.Store(int64(median))
	default:
		c.offset.Store(0)
	}
}
