package fence

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// usual is the cost by default.
var usual = Cost{Share: 0.05, BytesPerSecond: 4 << 20}
