package harness

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCreatedPodsEqualTheSamples(t *testing.T) {
	ns := apiserver.Namespace(t)
	samples := Pods(100, ns, 1)
	if err := apiserver.CreatePods(t.Context(), samples); err != nil {
		t.Fatal(err)
	}
	list, err := apiserver.Client("admin").CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(samples) {
		t.Fatalf("%d pods, want %d", len(list.Items), len(samples))
	}
	byName := make(map[string]*corev1.Pod)
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	for _, want := range samples[:3] {
		got := byName[want.Name]
		got.TypeMeta = want.TypeMeta // absent in lists
		checkSize(t, got)
		if diff := cmp.Diff(withoutServerPart(want), withoutServerPart(got)); diff != "" {
			t.Errorf("(-sample +apiserver):\n%s", diff)
		}
		if diff := cmp.Diff(ownership(t, want), ownership(t, got)); diff != "" {
			t.Errorf("managed fields (-sample +apiserver):\n%s", diff)
		}
	}
}

// withoutServerPart returns the pod without the fields that differ between servers.
func withoutServerPart(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.UID, p.ResourceVersion, p.CreationTimestamp, p.ManagedFields = "", "", metav1.Time{}, nil
	return p
}

// ownership returns managedFields without the times.
func ownership(t *testing.T, p *corev1.Pod) map[string]any {
	t.Helper()
	owners := make(map[string]any)
	for _, m := range p.ManagedFields {
		var fields any
		if err := json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields); err != nil {
			t.Fatal(err)
		}
		owners[m.Manager+" "+m.Subresource] = fields
	}
	return owners
}
