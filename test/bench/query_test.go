package main

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestDecodePageFindsTheTokenAndTheItems(t *testing.T) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "token"}, Items: make([]corev1.Pod, 3)}
	raw, err := list.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := (&runtime.Unknown{Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	page := decodePage(bytes.NewReader(append([]byte("k8s\x00"), envelope...)))
	if page.Continue != "token" || len(page.Items) != 3 {
		t.Errorf("token %q and %d items", page.Continue, len(page.Items))
	}
	if try(func() { decodePage(bytes.NewReader([]byte("{}"))) }) == nil {
		t.Error("JSON is decoded as Protobuf")
	}
}

func TestNamespacesShareAllPods(t *testing.T) {
	for _, pods := range []int{1, 50, 10_000} {
		sum := 0
		for i := range namespaces {
			sum += namespaceSize(pods, i)
		}
		if sum != pods {
			t.Errorf("%d of %d pods in namespaces", sum, pods)
		}
	}
}
