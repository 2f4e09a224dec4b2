package signals

import (
	"testing"

	"sluice/test/harness"
)

// apiserver is shared by the tests that do not stop it.
var apiserver *harness.ControlPlane

func TestMain(m *testing.M) { harness.Main(m, 0, run) }

func run(m *testing.M) (code int, err error) {
	if apiserver, err = harness.StartMain(); err != nil {
		return 0, err
	}
	defer func() { _ = apiserver.Stop() }()
	return m.Run(), nil
}
