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
	hook.hang() // from the first object on: later ones have been converted for the apiserver's watch cache
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
	hook.awaitCall(t)
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

// webhook converts objects by changing their version.
type webhook struct {
	server *httptest.Server
	called chan struct{} // holds a token after a call that hangs

	mu    sync.Mutex
	hangs chan struct{} // closed when calls go on; nil while they do
}

func startWebhook(t *testing.T) *webhook {
	w := &webhook{called: make(chan struct{}, 1)}
	w.server = httptest.NewTLSServer(w)
	t.Cleanup(w.server.Close)
	t.Cleanup(w.goOn)
	return w
}

func (w *webhook) hang() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hangs = make(chan struct{})
}

func (w *webhook) goOn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hangs != nil {
		close(w.hangs)
		w.hangs = nil
	}
}

func (w *webhook) awaitCall(t *testing.T) {
	t.Helper()
	select {
	case <-w.called:
	case <-t.Context().Done():
	}
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
	w.mu.Lock()
	hangs := w.hangs
	w.mu.Unlock()
	if hangs != nil {
		select {
		case w.called <- struct{}{}:
		default:
		}
		select {
		case <-hangs:
		case <-r.Context().Done():
			return
		}
	}
	for _, o := range review.Request.Objects {
		o["apiVersion"] = review.Request.DesiredAPIVersion
	}
	_ = json.NewEncoder(out).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
		"uid": review.Request.UID, "result": map[string]any{"status": "Success"}, "convertedObjects": review.Request.Objects,
	}})
}
