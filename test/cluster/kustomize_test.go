package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

// deployment returns a Deployment of the client under the workload's service account.
func (w workload) deployment(label string) *appsv1.Deployment {
	pod := clientPod("web", "serve")
	pod.Spec.ServiceAccountName = clientAccount
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: w.namespace, Labels: map[string]string{"sluice": label}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
	}
}

// pointedTo returns the directory of a kustomization that points the client's Deployment to the Service with
// a cluster IP. There is no DNS in this cluster.
func (w workload) pointedTo(t *testing.T, address string) string {
	t.Helper()
	d := w.deployment("client")
	d.Spec.Template.Spec.HostAliases = []corev1.HostAlias{{IP: address, Hostnames: []string{edgeHost}}}
	return w.kustomization(t, d, "client")
}

// kustomization writes a kustomization with one object and one component of deploy/kustomize, and returns
// its directory.
func (w workload) kustomization(t *testing.T, object any, component string) string {
	t.Helper()
	dir := t.TempDir()
	raw, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	// kustomize takes relative paths only.
	source, err := filepath.Rel(dir, harness.Path(t, "deploy/kustomize/components/"+component))
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		"object.yaml":        string(raw),
		"kustomization.yaml": fmt.Sprintf("namespace: %s\nresources: [object.yaml]\ncomponents: [%s]\n", w.namespace, source),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// apply applies a kustomization.
func (w workload) apply(t *testing.T, dir string) {
	t.Helper()
	newKubectl(t, w.Kubeconfig("admin")).run("apply", "--server-side", "--validate=strict", "--kustomize="+dir)
}
