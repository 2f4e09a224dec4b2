package pressure

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

const gadgets = "/apis/ex.io/v2/gadgets"

// The apiserver cannot convert the objects of one resource, because a webhook hangs. That delays no other.
func TestAConversionThatHangsDelaysNoOtherResource(t *testing.T) {
	called, hangs := make(chan struct{}), make(chan struct{})
	call, goOn := sync.OnceFunc(func() { close(called) }), sync.OnceFunc(func() { close(hangs) })
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // whole, so that the end of the connection is noticed
		if err == nil {
			call()
			select {
			case <-hangs: // objects that are converted before would be in the apiserver's watch cache
				err = convert(w, body)
			case <-r.Context().Done():
			}
		}
		if err != nil && r.Context().Err() == nil { // the apiserver still waits
			t.Error(err)
		}
	}))
	t.Cleanup(webhook.Close)
	t.Cleanup(goOn)
	createGadget(t, webhook)
	r := startSluice(t)
	var hanging sync.WaitGroup
	for range 50 {
		hanging.Go(func() {
			resp, err := r.Raw("admin").Open(t.Context(), harness.Request{Path: gadgets})
			if err == nil {
				resp.Body.Close()
			}
		})
	}
	<-called
	r.WaitForCacheSync(t, configMaps, "configmaps.v1")
	r.WaitForCacheSync(t, "/api/v1/pods", "pods.v1")
	report, err := r.AdminGet("/readyz?verbose")
	if err != nil || !strings.Contains(report, "cache-sync/gadgets.v2.ex.io not in sync") {
		t.Errorf("%v: %s", err, report)
	}
	goOn()
	r.WaitForCacheSync(t, gadgets, "gadgets.v2.ex.io")
	hanging.Wait()
}

// createGadget creates a resource that is stored as v1, and an object of it.
func createGadget(t *testing.T, webhook *httptest.Server) {
	t.Helper()
	const version = `{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object"}}}`
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})
	apiserver.MustCreate(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(`{"metadata":{"name":"gadgets.ex.io"},
		"spec":{"group":"ex.io","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget"},
			"versions":[`+version+`,`+version+`],"conversion":{"strategy":"Webhook","webhook":{
				"conversionReviewVersions":["v1"],"clientConfig":{"url":%q,"caBundle":%q}}}}}`,
		"v1", true, "v2", false, webhook.URL, base64.StdEncoding.EncodeToString(ca)))
	apiserver.MustCreate(t, "/apis/ex.io/v1/namespaces/default/gadgets", `{"apiVersion":"ex.io/v1","kind":"Gadget","metadata":{"name":"one"}}`)
}

// convert answers a ConversionReview by changing the version of each object.
func convert(w io.Writer, body []byte) error {
	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return err
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, o := range review.Request.Objects {
		o.Raw = bytes.ReplaceAll(o.Raw, []byte(`"ex.io/v1"`), []byte(`"`+review.Request.DesiredAPIVersion+`"`))
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, o)
	}
	return json.NewEncoder(w).Encode(review)
}
