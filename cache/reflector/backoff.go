package reflector

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 200 * time.Millisecond
	// longestPause bounds how long a recovered upstream goes unnoticed.
	longestPause = 30 * time.Second
)

// backoff spaces attempts out: each pause is about twice the one before, with
// jitter, so that feeds that failed together do not come back together.
type backoff struct{ next time.Duration }

func (b *backoff) reset() { b.next = 0 }

// wait pauses before the next attempt after err, which may name the pause.
func (b *backoff) wait(ctx context.Context, err error) {
	pause := max(b.next, firstPause)
	b.next = min(2*pause, longestPause)
	var told *RetryAfterError
	if errors.As(err, &told) {
		pause = max(pause, min(told.After, longestPause))
	}
	pause += time.Duration(rand.Int64N(int64(pause) / 2))
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
