package conformance

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	clientfeatures "k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/rest"
)

// formatRecorder counts the formats of request bodies and responses between a client and a server.
type formatRecorder struct {
	next   http.RoundTripper
	accept string // unless empty, replaces the Accept header

	mu                sync.Mutex
	bodies, responses map[string]int // guarded by mu
}

// RoundTrip implements http.RoundTripper.
func (f *formatRecorder) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if f.accept != "" {
		r.Header.Set("Accept", f.accept)
	}
	resp, err := f.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ct := r.Header.Get("Content-Type"); ct != "" {
		f.bodies[ct]++
	}
	f.responses[fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Content-Type"))]++
	return resp, nil
}

// testPreferring has client-go write CBOR: its first write is refused, as by the apiserver, and then it writes JSON.
func (n *noCBOR) testPreferring(t *testing.T) {
	featuretesting.SetFeatureDuringTest(t, clientfeatures.ClientsAllowCBOR, true)
	featuretesting.SetFeatureDuringTest(t, clientfeatures.ClientsPreferCBOR, true)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"generateName": "c-"},
	}}
	namespace := n.apiserver.Namespace(t)
	for name, config := range map[string]*rest.Config{"apiserver": n.apiserver.RESTConfig("admin"), "Sluice": n.sluice.RESTConfig("admin")} {
		clients, err := dynamic.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		maps := clients.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace)
		if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); !apierrors.IsUnsupportedMediaType(err) {
			t.Errorf("%s, first write: %v", name, err)
		}
		if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Errorf("%s, second write: %v", name, err)
		}
	}
}

// testClients has client-go read CBOR. It never meets a refusal of the apiserver.
func (n *noCBOR) testClients(t *testing.T) {
	featuretesting.SetFeatureDuringTest(t, clientfeatures.ClientsAllowCBOR, true)
	for name, accept := range map[string]string{"default Accept": "", "only CBOR": mediaCBOR} {
		t.Run(name, func(t *testing.T) {
			recorder := &formatRecorder{accept: accept, bodies: map[string]int{}, responses: map[string]int{}}
			config := n.sluice.RESTConfig("admin")
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				recorder.next = next
				return recorder
			})
			clients, err := dynamic.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			exerciseSecrets(t, clients.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(n.apiserver.Namespace(t)))
			want := map[string]int{"application/json": 4, "application/apply-patch+yaml": 2, "application/merge-patch+json": 1}
			if diff := cmp.Diff(want, recorder.bodies); diff != "" {
				t.Errorf("bodies (-want +got):\n%s", diff)
			}
			for response := range recorder.responses {
				if response[:3] == "415" || response[:3] == "406" || accept == mediaCBOR && response[3:] != " application/cbor" && response[3:] != " application/cbor-seq" {
					t.Errorf("response %s", response)
				}
			}
		})
	}
}

// exerciseSecrets calls every method of a client.
func exerciseSecrets(t *testing.T, secrets dynamic.ResourceInterface) {
	ctx := t.Context()
	object := func(value string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": map[string]any{"k": value},
		}}
	}
	must := func(o *unstructured.Unstructured, err error) *unstructured.Unstructured {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	value := func(o *unstructured.Unstructured) string {
		v, _, _ := unstructured.NestedString(o.Object, "data", "k")
		return v
	}
	w, err := secrets.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	expect := func(typ watch.EventType, v string) {
		t.Helper()
		e := <-w.ResultChan()
		if o, ok := e.Object.(*unstructured.Unstructured); !ok || e.Type != typ || value(o) != v {
			t.Fatalf("event %v, want %s of %s", e, typ, v)
		}
	}
	created := must(secrets.Create(ctx, object("b25l"), metav1.CreateOptions{}))
	expect(watch.Added, "b25l")
	if _, err := secrets.Create(ctx, object("b25l"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("create again: %v", err)
	}
	if err := unstructured.SetNestedField(created.Object, "dHdv", "data", "k"); err != nil {
		t.Fatal(err)
	}
	must(secrets.Update(ctx, created, metav1.UpdateOptions{}))
	expect(watch.Modified, "dHdv")
	must(secrets.Apply(ctx, "s", object("dGhyZWU="), metav1.ApplyOptions{FieldManager: "me", Force: true}))
	expect(watch.Modified, "dGhyZWU=")
	if _, err := secrets.Apply(ctx, "s", object("Zm91cg=="), metav1.ApplyOptions{FieldManager: "other"}); !apierrors.IsConflict(err) {
		t.Errorf("apply of another manager: %v", err)
	}
	must(secrets.Patch(ctx, "s", types.MergePatchType, []byte(`{"data":{"k":"Zml2ZQ=="}}`), metav1.PatchOptions{}))
	expect(watch.Modified, "Zml2ZQ==")
	if got := value(must(secrets.Get(ctx, "s", metav1.GetOptions{}))); got != "Zml2ZQ==" {
		t.Errorf("get: %s", got)
	}
	if l, err := secrets.List(ctx, metav1.ListOptions{}); err != nil || len(l.Items) != 1 || value(&l.Items[0]) != "Zml2ZQ==" {
		t.Errorf("list: %v, %v", l, err)
	}
	if err := secrets.Delete(ctx, "s", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	expect(watch.Deleted, "Zml2ZQ==")
	if _, err := secrets.Get(ctx, "s", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get after delete: %v", err)
	}
}
