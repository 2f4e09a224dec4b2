package consistency

import (
	"flag"
	"testing"
	"time"

	"sluice/test/harness"
)

var (
	duration = flag.Duration("consistency.duration", 45*time.Second, "how long faults are injected")
	seed     = flag.Uint64("consistency.seed", 1, "seed of the random requests and faults")
	binary   = flag.String("consistency.binary", "", "program in bin to test; empty for Sluice with the race detector")
	direct   = flag.Bool("consistency.direct", false, "read from the apiserver instead of Sluice, to test the test")
)

// controlPlane is shared by the tests, which run one after the other. One of them kills and
// restarts it.
var controlPlane *harness.ControlPlane

func TestMain(m *testing.M) {
	harness.Share(m, &controlPlane, harness.Options{Flags: []string{"--watch-cache-sizes=reports." + customGroup + "#0"}})
}
