package pressure

import (
	"errors"
	"testing"

	"sluice/test/harness"
)

// apiserver is shared by the tests, which run one after the other.
var apiserver *harness.ControlPlane

func TestMain(m *testing.M) { harness.Main(m, 0, run) }

func run(m *testing.M) (code int, err error) {
	if apiserver, err = harness.StartMain(); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, apiserver.Stop()) }()
	return m.Run(), nil
}
