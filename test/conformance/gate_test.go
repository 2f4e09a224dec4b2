package conformance

import (
	"testing"

	"sluice/test/harness"
)

const strict = `
apiVersion: sluice/v1alpha1
kind: Configuration
compatibility: strict
`

// TestStrict: strictly, Sluice has the formats that the apiserver has, whether
// or not CBOR is among them.
func TestStrict(t *testing.T) {
	t.Parallel()
	sluice := plane.StartSluice(t, harness.SluiceOptions{Config: strict})
	testGate(t, plane, sluice, "testdata/gate/strict.yaml", "testdata/gate/strict-on.yaml")
}

// TestGateOff: before an apiserver without CBOR, Sluice has it all the same,
// unless it is strict.
func TestGateOff(t *testing.T) {
	t.Parallel()
	plane := harness.Start(t)
	if err := makeAll(t.Context(), plane, objects); err != nil {
		t.Fatal(err)
	}
	t.Run("strict", func(t *testing.T) {
		sluice := plane.StartSluice(t, harness.SluiceOptions{Config: strict})
		testGate(t, plane, sluice, "testdata/gate/strict.yaml", "testdata/gate/strict-off.yaml")
	})
	t.Run("extended", func(t *testing.T) {
		testGate(t, plane, plane.StartSluice(t), "testdata/gate/extended.yaml")
	})
}

// testGate checks the rows of files that read what does not change.
func testGate(t *testing.T, plane server, sluice *harness.Sluice, files ...string) {
	t.Helper()
	for _, c := range []string{"/api/v1/configmaps", "/api/v1/nodes", "/api/v1/pods", "/apis/apps/v1/deployments", "/apis/ex.io/v1/gems", "/apis/ex.io/v1/bars"} {
		sluice.WaitForCacheSync(t, c, resourceName(c))
	}
	for _, file := range files {
		var rows []Row
		if err := read(file, &rows); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			for _, one := range row.expand() {
				t.Run(one.Name, func(t *testing.T) {
					t.Parallel()
					one.check(t, plane, sluice)
				})
			}
		}
	}
}
