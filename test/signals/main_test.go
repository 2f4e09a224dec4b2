package signals

import (
	"testing"

	"sluice/test/harness"
)

// apiserver is shared by the tests that do not stop it.
var apiserver *harness.ControlPlane

func TestMain(m *testing.M) { harness.Share(m, &apiserver) }
