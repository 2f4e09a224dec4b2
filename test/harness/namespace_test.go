package harness

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNamespaceIsDeletedWithItsTest(t *testing.T) {
	var ns string
	t.Run("use", func(t *testing.T) {
		ns = apiserver.Namespace(t)
		if err := apiserver.CreatePods(t.Context(), Pods(5, ns, 1)); err != nil {
			t.Fatal(err)
		}
	})
	core := apiserver.Client("admin").CoreV1()
	pods, err := core.Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods are left, %v", len(pods.Items), err)
	}
	if _, err := core.Namespaces().Get(t.Context(), ns, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace: %v", err)
	}
}
