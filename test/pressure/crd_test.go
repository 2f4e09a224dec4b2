package pressure

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/test/harness"
)

// The apiserver serves new requests by a changed CRD at once, but ends the watch of the store only when all requests have ended
// that were in progress: a body that does not come is enough for two minutes. Readers see what new requests see nevertheless.
func TestChangedCRDIsNoticedBeforeTheWatchEnds(t *testing.T) {
	const (
		crds     = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		fittings = "/apis/ex.io/v1/fittings"
	)
	spec := func(fields ...string) map[string]any {
		properties := map[string]any{}
		for _, f := range fields {
			properties[f] = map[string]any{"type": "string"}
		}
		return map[string]any{
			"group": "ex.io", "scope": "Cluster", "names": map[string]any{"plural": "fittings", "kind": "Fitting"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "properties": properties},
			}}},
		}
	}
	post(t, crds, map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "fittings.ex.io"},
		"spec": spec("size"),
	})
	post(t, fittings, map[string]any{"apiVersion": "ex.io/v1", "kind": "Fitting", "metadata": map[string]any{"name": "a"}, "size": "1"})
	r := startSluice(t, fittings, harness.SluiceOptions{})
	r.WaitForCacheSync(t, fittings, "fittings.v1.ex.io")
	r.mu.Lock()
	r.only = fittings
	r.mu.Unlock()
	r.freeze()
	patch, err := json.Marshal(map[string]any{"spec": spec("size", "color")})
	if err != nil {
		t.Fatal(err)
	}
	do := func(method, path string, body []byte) *harness.Response {
		resp, err := apiserver.Raw("admin").Do(t.Context(), harness.Request{
			Method: method, Path: path, Body: body, Header: http.Header{"Content-Type": {"application/merge-patch+json"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if resp := do(http.MethodPatch, crds+"/fittings.ex.io", patch); resp.Status != http.StatusOK {
		t.Fatalf("%d %s", resp.Status, resp.Body)
	}
	const colored = `"color":"red"`
	harness.Eventually(t, "the apiserver keeps the new field", func() error {
		if resp := do(http.MethodPatch, fittings+"/a", []byte(`{"color":"red"}`)); !strings.Contains(string(resp.Body), colored) {
			return fmt.Errorf("%d %s", resp.Status, resp.Body)
		}
		return nil
	})
	shows := func() error {
		resp, err := r.Raw("admin").Do(t.Context(), harness.Request{Path: fittings + "?resourceVersion=0"})
		if err == nil && !strings.Contains(string(resp.Body), colored) {
			err = fmt.Errorf("%d %s", resp.Status, resp.Body)
		}
		return err
	}
	harness.Eventually(t, "the new field is shown", shows)
	r.thaw()
	r.WaitForCacheSync(t, fittings, "fittings.v1.ex.io")
	if err := shows(); err != nil {
		t.Error(err)
	}
}
