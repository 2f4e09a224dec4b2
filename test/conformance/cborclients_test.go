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
)

// wireTap notes in which formats a client and its server talk.
type wireTap struct {
	next   http.RoundTripper
	accept string // takes the place of the client's own, unless empty

	mu              sync.Mutex
	bodies, answers map[string]int // guarded by mu
}

// RoundTrip implements http.RoundTripper.
func (w *wireTap) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if w.accept != "" {
		r.Header.Set("Accept", w.accept)
	}
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ct := r.Header.Get("Content-Type"); ct != "" {
		w.bodies[ct]++
	}
	w.answers[fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Content-Type"))]++
	return resp, nil
}

// testClients has client-go write and read CBOR: it never learns that the
// apiserver does not.
func (n *noCBOR) testClients(t *testing.T) {
	featuretesting.SetFeatureDuringTest(t, clientfeatures.ClientsAllowCBOR, true)
	featuretesting.SetFeatureDuringTest(t, clientfeatures.ClientsPreferCBOR, true)
	for name, accept := range map[string]string{"its own Accept": "", "only CBOR": mediaCBOR} {
		t.Run(name, func(t *testing.T) {
			tap := &wireTap{accept: accept, bodies: map[string]int{}, answers: map[string]int{}}
			config := n.sluice.RESTConfig("admin")
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				tap.next = next
				return tap
			})
			clients, err := dynamic.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			live(t, clients.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(n.plane.Namespace(t)))
			want := map[string]int{"application/cbor": 4, "application/apply-patch+cbor": 2, "application/merge-patch+json": 1}
			if diff := cmp.Diff(want, tap.bodies); diff != "" {
				t.Errorf("bodies (-want +got):\n%s", diff)
			}
			for answer := range tap.answers {
				if answer[:3] == "415" || answer[:3] == "406" || accept == mediaCBOR && answer[3:] != " application/cbor" && answer[3:] != " application/cbor-seq" {
					t.Errorf("there was an answer %s", answer)
				}
			}
		})
	}
}

// live does with secrets what there is to be done.
func live(t *testing.T, secrets dynamic.ResourceInterface) {
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
	made := must(secrets.Create(ctx, object("b25l"), metav1.CreateOptions{}))
	expect(watch.Added, "b25l")
	if _, err := secrets.Create(ctx, object("b25l"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("created again: %v", err)
	}
	if err := unstructured.SetNestedField(made.Object, "dHdv", "data", "k"); err != nil {
		t.Fatal(err)
	}
	must(secrets.Update(ctx, made, metav1.UpdateOptions{}))
	expect(watch.Modified, "dHdv")
	must(secrets.Apply(ctx, "s", object("dGhyZWU="), metav1.ApplyOptions{FieldManager: "me", Force: true}))
	expect(watch.Modified, "dGhyZWU=")
	if _, err := secrets.Apply(ctx, "s", object("Zm91cg=="), metav1.ApplyOptions{FieldManager: "other"}); !apierrors.IsConflict(err) {
		t.Errorf("applied against another: %v", err)
	}
	must(secrets.Patch(ctx, "s", types.MergePatchType, []byte(`{"data":{"k":"Zml2ZQ=="}}`), metav1.PatchOptions{}))
	expect(watch.Modified, "Zml2ZQ==")
	if got := value(must(secrets.Get(ctx, "s", metav1.GetOptions{}))); got != "Zml2ZQ==" {
		t.Errorf("got %s", got)
	}
	if l, err := secrets.List(ctx, metav1.ListOptions{}); err != nil || len(l.Items) != 1 || value(&l.Items[0]) != "Zml2ZQ==" {
		t.Errorf("listed %v, %v", l, err)
	}
	if err := secrets.Delete(ctx, "s", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	expect(watch.Deleted, "Zml2ZQ==")
	if _, err := secrets.Get(ctx, "s", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got what is deleted: %v", err)
	}
}
