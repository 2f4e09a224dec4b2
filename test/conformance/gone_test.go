package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/test/harness"
)

// TestCompactedStatesAreGone reads states that etcd has compacted (wire.md 4.3, 4.4). The apiserver
// notices after some 15 seconds.
func TestCompactedStatesAreGone(t *testing.T) {
	t.Parallel()
	apiserver := harness.Start(t, harness.Options{Flags: []string{"--etcd-compaction-interval=1s", cborGate}})
	write := func(method, path, object string) {
		t.Helper()
		mustSend(t, apiserver, Write{method, path, json.RawMessage(object)})
	}
	const in = "/api/v1/namespaces/default/configmaps"
	for _, name := range []string{"a", "b", "c"} {
		write(http.MethodPost, in, fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
	}
	early := mustList(t, apiserver, in+"?limit=1")
	// Sluice's history begins after this write.
	write(http.MethodPut, in+"/b", `{"metadata":{"name":"b"},"data":{"k":"v"}}`)
	sluice := apiserver.StartSluice(t)
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	write(http.MethodPut, in+"/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	late := mustList(t, apiserver, in+"?limit=1")
	harness.Eventually(t, "compaction", func() error {
		write(http.MethodDelete, in+"/c", "")
		write(http.MethodPost, in, `{"metadata":{"name":"c"}}`)
		a, err := apiserver.Raw("admin").Get(t.Context(), in+"?limit=1&continue="+late.Metadata.Continue, "application/json")
		if err == nil && a.Status != http.StatusGone {
			err = fmt.Errorf("status is %d", a.Status)
		}
		return err
	})
	runRows(t, "testdata/gone.yaml", strings.NewReplacer(
		"{early}", early.Metadata.ResourceVersion, "{early token}", early.Metadata.Continue,
		"{late}", late.Metadata.ResourceVersion, "{late token}", late.Metadata.Continue,
	), apiserver, sluice)
}
