package wait

import (
	"context"
	"time"
)

// For waits for event. It returns false if ctx or other ends the wait; a nil channel never does.
func For(ctx context.Context, event, other <-chan struct{}) bool {
	select {
	case <-event:
		return true
	case <-other:
		return false
	case <-ctx.Done():
		return false
	}
}

// Pause waits for d, or until ctx ends. It uses no timer for a d of 0 or less: the race detector breaks where goroutines of a
// bubble of synctest read expired timers at once (https://go.dev/issue/78156).
func Pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
