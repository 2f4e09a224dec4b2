package harness

import (
	_ "embed"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The fields that the creator of a pod owns, and those of the writer of its status, as the apiserver writes them.
var (
	//go:embed testdata/controller.json
	ownedByController string
	//go:embed testdata/kubelet.json
	ownedByKubelet string
)

// managed returns the managedFields of the pod.
func (s *sample) managed(p *corev1.Pod) []metav1.ManagedFieldsEntry {
	entry := func(manager, subresource string, at metav1.Time, owned string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(strings.TrimSpace(owned)), Subresource: subresource,
		}
	}
	return []metav1.ManagedFieldsEntry{
		entry("kube-controller-manager", "", s.created, strings.Replace(ownedByController, "UID", string(s.owner), 1)),
		entry("kubelet", "status", s.after(9), strings.Replace(ownedByKubelet, "PODIP", p.Status.PodIP, 1)),
	}
}
