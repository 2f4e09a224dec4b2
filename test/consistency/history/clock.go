package history

import "sync/atomic"

// Tick is a moment of a logical clock. Later moments are greater.
type Tick uint64

// Clock counts moments. It may be used concurrently.
type Clock struct{ last atomic.Uint64 }

// Now returns a moment after every moment that it returned before.
func (c *Clock) Now() Tick { return Tick(c.last.Add(1)) }
