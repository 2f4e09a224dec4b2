package reflector

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"sluice/cache"
)

const (
	firstDelay = 200 * time.Millisecond
	// maxDelay bounds how long it takes to notice that the apiserver is reachable again.
	maxDelay = 30 * time.Second
)

// backoff delays attempts exponentially. Jitter spreads the reflectors that failed at the same
// time.
type backoff struct{ next time.Duration }

func (b *backoff) reset() { b.next = 0 }

// limit bounds the delay of the next attempt.
func (b *backoff) limit(delay time.Duration) { b.next = min(b.next, delay) }

// wait delays the next attempt after err, at least as long as a cache.RetryAfterError requests.
func (b *backoff) wait(ctx context.Context, err error) {
	delay := max(b.next, firstDelay)
	b.next = min(2*delay, maxDelay)
	var retryAfter *cache.RetryAfterError
	if errors.As(err, &retryAfter) {
		delay = max(delay, min(retryAfter.After, maxDelay))
	}
	delay += rand.N(delay / 2)
	select {
	case <-time.After(delay):
	case <-ctx.Done():
	}
}
