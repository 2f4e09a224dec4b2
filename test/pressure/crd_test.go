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
	admin := apiserver.Raw("admin")
	if _, err := admin.Write(t.Context(), http.MethodPatch, crds+"/fittings.ex.io", string(patch)); err != nil {
		t.Fatal(err)
	}
	const colored = `"color":"red"`
	harness.Eventually(t, "the apiserver keeps the new field", func() error {
		resp, err := admin.Write(t.Context(), http.MethodPatch, fittings+"/a", `{"color":"red"}`)
		if err == nil && !strings.Contains(string(resp.Body), colored) {
			err = fmt.Errorf("%d %s", resp.Status, resp.Body)
		}
		return err
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
