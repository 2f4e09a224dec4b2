package serve

import (
	"testing"

	"go.uber.org/goleak"

	"sluice/codec/splice"
)

func TestMain(m *testing.M) {
	// The zstd encoder makes channels on first use, which must not belong to the bubble of one test.
	splice.Zstd.Compress(nil, []byte("x"))
	goleak.VerifyTestMain(m)
}
