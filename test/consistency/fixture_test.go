package consistency

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"sluice/test/harness"
)

var (
	duration = flag.Duration("consistency.duration", 45*time.Second, "how long faults go on")
	seed     = flag.Uint64("consistency.seed", 1, "what decides on requests and faults")
	binary   = flag.String("consistency.binary", "", "program to test, in bin; empty for Sluice with the race detector")
	direct   = flag.Bool("consistency.direct", false, "ask the apiserver instead of Sluice, to test the test")
)

// plane is shared by the tests, one after the other. One of them kills it and
// starts it again.
var plane *harness.ControlPlane

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if plane, err = harness.StartMain(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := plane.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
