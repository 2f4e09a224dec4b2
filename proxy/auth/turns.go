package auth

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// turns bounds the unknown reviews of each address or user that run at the same time. The others wait
// for their turn, first come, first served, without a place.
type turns[K comparable] struct {
	atOnce int64

	mu      sync.Mutex // guards what follows
	waiters map[K]*waiters
}

// waiters are the reviews of one key that wait or run.
type waiters struct {
	turn  *semaphore.Weighted
	count int // guarded by turns.mu
}

func newTurns[K comparable](atOnce int) *turns[K] {
	return &turns[K]{atOnce: int64(atOnce), waiters: map[K]*waiters{}}
}

// enter waits for a turn; leave ends it. After an error leave is nil.
func (t *turns[K]) enter(ctx context.Context, key K) (leave func(), err error) {
	t.mu.Lock()
	w := t.waiters[key]
	if w == nil {
		w = &waiters{turn: semaphore.NewWeighted(t.atOnce)}
		t.waiters[key] = w
	}
	w.count++
	t.mu.Unlock()
	if err := w.turn.Acquire(ctx, 1); err != nil {
		t.left(key, w)
		return nil, err
	}
	return func() { w.turn.Release(1); t.left(key, w) }, nil
}

// left removes the waiters of a key when the last one has left.
func (t *turns[K]) left(key K, w *waiters) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.count--; w.count == 0 {
		delete(t.waiters, key)
	}
}
