package deploy

import (
	"testing"

	"sluice/test/harness"
)

// plane is shared by the tests that leave objects of others alone.
var plane *harness.ControlPlane

func TestMain(m *testing.M) { harness.Share(m, &plane) }
