package cache

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	validating = true
	goleak.VerifyTestMain(m)
}
