package harness

import (
	"context"
	"fmt"
	"testing"
	"time"
)

const (
	// pollLimit is generous: it only ever passes when something is wrong.
	pollLimit    = time.Minute
	pollInterval = 20 * time.Millisecond
)

// Eventually asks until the condition holds, and ends the test with its last error if it never does.
func Eventually(t testing.TB, what string, condition func() error) {
	t.Helper()
	if err := Poll(context.Background(), condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Poll asks until the condition holds, and returns its last error if it never does or the context ends.
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
