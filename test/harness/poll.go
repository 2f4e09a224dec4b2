package harness

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	// pollLimit is much longer than any condition takes unless something is broken, also on a
	// machine whose cores are all busy.
	pollLimit    = 6 * time.Minute
	pollInterval = 20 * time.Millisecond
)

// Eventually polls a condition until it returns nil, and fails the test with its last error after
// pollLimit.
func Eventually(t testing.TB, what string, condition func() error) {
	t.Helper()
	if err := Poll(context.Background(), condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Poll polls a condition until it returns nil. It returns the last error after pollLimit, or when ctx
// ends.
func Poll(ctx context.Context, condition func() error) error {
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	start := time.Now()
	for {
		err := condition()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", time.Since(start).Round(time.Second), err)
		case <-ticker.C:
		}
	}
}
