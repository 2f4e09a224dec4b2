package conformance

import (
	"net/http"
	"testing"

	"sluice/test/harness"
)

const strict = `
apiVersion: sluice/v1alpha1
kind: Configuration
compatibility: strict
`

// TestStrictSupportsTheFormatsOfTheApiserver with CBOR. It is not parallel: its rows watch all
// namespaces of the shared apiserver, in which parallel tests write.
func TestStrictSupportsTheFormatsOfTheApiserver(t *testing.T) {
	sluice := apiserver.StartSluice(t, harness.SluiceOptions{Config: strict})
	testGate(t, apiserver, sluice, "testdata/gate/strict.yaml", "testdata/gate/strict-on.yaml")
}

// TestSluiceSupportsCBORUnlessStrict in front of an apiserver without CBOR, which is the default.
func TestSluiceSupportsCBORUnlessStrict(t *testing.T) {
	t.Parallel()
	apiserver := harness.Start(t)
	if err := createAll(t.Context(), apiserver, objects); err != nil {
		t.Fatal(err)
	}
	t.Run("strict", func(t *testing.T) {
		sluice := apiserver.StartSluice(t, harness.SluiceOptions{Config: strict})
		testGate(t, apiserver, sluice, "testdata/gate/strict.yaml", "testdata/gate/strict-off.yaml")
	})
	n := &noCBOR{apiserver, apiserver.StartSluice(t)}
	if a, err := apiserver.Raw("admin").Get(t.Context(), "/api/v1/namespaces/default", mediaCBOR); err != nil || a.Status != http.StatusNotAcceptable {
		t.Fatalf("the apiserver supports CBOR: %v, %v", a, err)
	}
	t.Run("extended", func(t *testing.T) { testGate(t, apiserver, n.sluice, "testdata/gate/extended.yaml") })
	t.Run("requests", n.testRequests)
	t.Run("bodies", n.testBodies)
}

// testGate checks the rows of files, which read objects that do not change.
func testGate(t *testing.T, apiserver server, sluice *harness.Sluice, files ...string) {
	t.Helper()
	for _, c := range []string{"/api/v1/configmaps", "/api/v1/nodes", "/api/v1/pods", "/apis/apps/v1/deployments", "/apis/ex.io/v1/gems", "/apis/ex.io/v1/bars"} {
		sluice.WaitForCacheSync(t, c, resourceName(c))
	}
	for _, file := range files {
		runRows(t, file, variables, apiserver, sluice)
	}
}
