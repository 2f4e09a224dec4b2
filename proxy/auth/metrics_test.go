package auth

import (
	"errors"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestFailedReviewsSayWhyOnceAMinute: whoever looks for the cause needs one line, and not one for each caller.
func TestFailedReviewsSayWhyOnceAMinute(t *testing.T) {
	core, lines := observer.New(zap.InfoLevel)
	m := NewMetrics(nil)
	m.LogFailures(zap.New(core))
	r := m.reviews("token")
	for range 3 {
		r.ended(t.Context(), false, errors.New("tokenreviews is forbidden"))
	}
	if all := lines.All(); len(all) != 1 || all[0].Message != "review failed" || all[0].ContextMap()["error"] != "tokenreviews is forbidden" {
		t.Errorf("%v", all)
	}
}
