package harness

import (
	"testing"
	"time"
)

const (
	// pollLimit is generous: it only ever passes in a test that is going to fail.
	pollLimit    = time.Minute
	pollInterval = 20 * time.Millisecond
)

// Eventually asks until the condition holds, and ends the test with its last error if it never does.
func Eventually(t testing.TB, what string, condition func() error) {
	t.Helper()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	limit := time.Now().Add(pollLimit)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s: not within %s: %v", what, pollLimit, err)
		}
		<-ticker.C
	}
}
