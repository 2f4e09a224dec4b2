package deploy

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"sluice/test/harness"
)

// pairs are the sets of objects that both the chart and kustomize create: values in deploy/helm/sluice/ci, and
// a kustomization.
var pairs = []struct{ values, kustomization string }{
	{"base", "deploy/kustomize/base"},
	{"edge", "deploy/kustomize/overlays/edge"},
	{"ha", "deploy/kustomize/overlays/ha"},
	{"components", "test/deploy/testdata/components"},
	{"client-ca", "test/deploy/testdata/client-ca"},
	{"proxy", "test/deploy/testdata/proxy"},
}

// program returns the output of a program in bin.
func program(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), harness.Program(t, name), args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, &stderr)
	}
	return out
}

// hashed is the name of a ConfigMap that kustomize has generated.
var hashed = regexp.MustCompile(`sluice-config-[0-9a-z]{10}\b`)

// kustomized renders a kustomization. The hash in the name of the ConfigMap is left out.
func kustomized(t *testing.T, kustomization string) []byte {
	t.Helper()
	return hashed.ReplaceAll(program(t, "kubectl", "kustomize", harness.Path(t, kustomization)), []byte("sluice-config"))
}

// charted renders the chart as the release sluice in the namespace sluice, with values of
// deploy/helm/sluice/ci.
func charted(t *testing.T, values ...string) []byte {
	t.Helper()
	args := []string{harness.Path(t, "deploy/helm/sluice"), "sluice", "sluice"}
	for _, v := range values {
		args = append(args, harness.Path(t, "deploy/helm/sluice/ci/"+v+".yaml"))
	}
	return program(t, "chart", args...)
}

// objects parses rendered YAML, by kind and name.
func objects(t *testing.T, rendered []byte) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(rendered), 4096); ; {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) == 0 {
			continue
		}
		key := o.GetKind() + "/" + o.GetName()
		if all[key] != nil {
			t.Errorf("%s is rendered twice", key)
		}
		all[key] = o
	}
}
