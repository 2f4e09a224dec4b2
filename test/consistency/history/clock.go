package history

import "sync/atomic"

// Tick is a moment. One that is taken before another is less.
type Tick uint64

// Clock hands out moments. It may be used concurrently.
type Clock struct{ last atomic.Uint64 }

// Now returns a moment after all that were returned before.
func (c *Clock) Now() Tick { return Tick(c.last.Add(1)) }
