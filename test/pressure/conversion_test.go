package pressure

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"sluice/test/harness"
)

// The apiserver cannot convert the objects of one resource, because a webhook hangs. That delays no other.
func TestAConversionThatHangsDelaysNoOtherResource(t *testing.T) {
	hook := startWebhook(t)
	createCRD(t, hook)
	r := startSluice(t, configMaps, harness.SluiceOptions{Config: fewPlaces})
	var hanging sync.WaitGroup
	for range 50 {
		hanging.Go(func() {
			resp, err := r.Raw("admin").Open(t.Context(), harness.Request{Path: gadgets})
			if err == nil {
				resp.Body.Close()
			}
		})
	}
	<-hook.called
	r.WaitForCacheSync(t, configMaps, "configmaps.v1")
	r.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	report, err := r.AdminGet("/readyz?verbose")
	if err != nil || !strings.Contains(report, "cache-sync/gadgets.v2.ex.io not in sync") {
		t.Errorf("%v: %s", err, report)
	}
	hook.goOn()
	r.WaitForCacheSync(t, gadgets, "gadgets.v2.ex.io")
	hanging.Wait()
}

const gadgets = "/apis/ex.io/v2/gadgets"

// createCRD creates a resource that is stored as v1, and an object of it.
func createCRD(t *testing.T, hook *webhook) {
	t.Helper()
	schema := map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}
	version := func(name string, stored bool) any {
		return map[string]any{"name": name, "served": true, "storage": stored, "schema": schema}
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.server.Certificate().Raw})
	post(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gadgets.ex.io"},
		"spec": map[string]any{
			"group": "ex.io", "scope": "Namespaced", "names": map[string]any{"plural": "gadgets", "kind": "Gadget"},
			"versions": []any{version("v1", true), version("v2", false)},
			"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": hook.server.URL, "caBundle": ca},
			}},
		},
	})
	post(t, "/apis/ex.io/v1/namespaces/default/gadgets", map[string]any{
		"apiVersion": "ex.io/v1", "kind": "Gadget", "metadata": map[string]any{"name": "one"},
	})
}

// post creates an object as soon as its resource is served.
func post(t *testing.T, path string, object any) {
	t.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := apiserver.Create(t.Context(), path, string(body)); err != nil {
		t.Fatal(err)
	}
}

// webhook converts objects by changing their version, once it goes on: objects that it converts before would be in the apiserver's
// watch cache.
type webhook struct {
	server *httptest.Server
	called chan struct{} // closed by the first call
	call   func()
	hangs  chan struct{} // closed by goOn
	goOn   func()
}

func startWebhook(t *testing.T) *webhook {
	w := &webhook{called: make(chan struct{}), hangs: make(chan struct{})}
	w.call, w.goOn = sync.OnceFunc(func() { close(w.called) }), sync.OnceFunc(func() { close(w.hangs) })
	w.server = httptest.NewTLSServer(w)
	t.Cleanup(w.server.Close)
	t.Cleanup(w.goOn)
	return w
}

// ServeHTTP answers a ConversionReview.
func (w *webhook) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion, Kind string
		Request          struct {
			UID               string
			DesiredAPIVersion string
			Objects           []map[string]any
		}
	}
	body, err := io.ReadAll(r.Body) // whole, so that the end of the connection is noticed
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	w.call()
	select {
	case <-w.hangs:
	case <-r.Context().Done():
		return
	}
	for _, o := range review.Request.Objects {
		o["apiVersion"] = review.Request.DesiredAPIVersion
	}
	_ = json.NewEncoder(out).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
		"uid": review.Request.UID, "result": map[string]any{"status": "Success"}, "convertedObjects": review.Request.Objects,
	}})
}
