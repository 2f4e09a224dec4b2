package restart

import (
	"fmt"
	"os"
	"testing"

	"sluice/test/harness"
)

// apiserver is shared by the tests that do not restart it.
var apiserver *harness.ControlPlane

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if apiserver, err = harness.StartMain(); err != nil {
		return 0, err
	}
	defer func() { _ = apiserver.Stop() }()
	return m.Run(), nil
}
