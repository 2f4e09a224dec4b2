package pressure

import (
	"testing"

	"sluice/test/harness"
)

// apiserver is shared by the tests, which run one after the other.
var apiserver *harness.ControlPlane

func TestMain(m *testing.M) { harness.Share(m, &apiserver) }
