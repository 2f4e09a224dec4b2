package flowcontrol

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Turns bounds what runs at the same time for each address or user. The rest waits for its turn, first
// come, first served, without a place among what runs for all.
type Turns struct {
	atOnce int64

	mu      sync.Mutex // guards what follows
	waiters map[string]*waiters
}

// waiters are those of one key that wait or run.
type waiters struct {
	turn  *semaphore.Weighted
	count int // guarded by Turns.mu
}

// NewTurns returns Turns of which each key may have so many at once.
func NewTurns(atOnce int) *Turns {
	return &Turns{atOnce: int64(atOnce), waiters: map[string]*waiters{}}
}

// Enter waits for a turn; leave ends it. If ctx ends first, Enter returns its error and no leave.
func (t *Turns) Enter(ctx context.Context, key string) (leave func(), err error) {
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
func (t *Turns) left(key string, w *waiters) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.count--; w.count == 0 {
		delete(t.waiters, key)
	}
}
