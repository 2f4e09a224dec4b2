package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

func TestChartAndKustomizationsCreateTheSameObjects(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.values, func(t *testing.T) {
			chart, kustomization := objects(t, charted(t, p.values)), objects(t, kustomized(t, p.kustomization))
			delete(kustomization, "Namespace/sluice") // helm makes it: --create-namespace
			for key, o := range chart {
				if kustomization[key] == nil {
					t.Errorf("only the chart has %s", key)
					continue
				}
				normalize(t, o)
				normalize(t, kustomization[key])
				if diff := cmp.Diff(o.Object, kustomization[key].Object); diff != "" {
					t.Errorf("%s: chart (-), kustomization (+):\n%s", key, diff)
				}
			}
			for key := range kustomization {
				if chart[key] == nil {
					t.Errorf("only the kustomization has %s", key)
				}
			}
		})
	}
}

// normalize removes what charts add by convention, and replaces the configuration file by its fields.
func normalize(t *testing.T, o *unstructured.Unstructured) {
	dropLabels(o.Object)
	unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "annotations", "checksum/config")
	if annotations, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "metadata", "annotations"); len(annotations) == 0 {
		unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "annotations")
	}
	data, _, _ := unstructured.NestedMap(o.Object, "data")
	for name, text := range data {
		if !strings.HasSuffix(name, ".yaml") {
			data[name] = strings.TrimSpace(text.(string))
			continue
		}
		var fields map[string]any
		if err := yaml.Unmarshal([]byte(text.(string)), &fields); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		data[name] = fields
	}
	if data != nil {
		o.Object["data"] = data
	}
}

// dropLabels removes the labels that tell charts apart, in metadata and in selectors.
func dropLabels(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			dropLabels(item)
		}
	case map[string]any:
		for _, label := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"} {
			delete(v, label)
		}
		for _, item := range v {
			dropLabels(item)
		}
	}
}

// TestWrongValuesAreRefused checks values.schema.json.
func TestWrongValuesAreRefused(t *testing.T) {
	for _, tt := range []struct{ values, want string }{
		{"replica: 2", "replica"},
		{"replicas: many", "replicas"},
		{"clientCA: /etc/ca.crt", "clientCA"},
		{"rbac: {resources: [Pods]}", "resources"},
		{"image: {digest: latest}", "digest"},
		{"service: {type: ExternalName}", "type"},
		{"strategy: {type: Rolling}", "strategy"},
		{"extraArgs: [log-level=warn]", "extraArgs"},
		{"monitoring: {bearerTokenFile: /token}", "bearerTokenFile"},
		{"config: {cahce: {idle: 1h}}", "cahce"},
		{"config: {cache: {idle: 1 hour}}", "idle"},
		{"config: {log: {level: loud}}", "level"},
		{"serviceAccount: {create: false}", "serviceAccount.name"},
	} {
		file := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(file, []byte(tt.values), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), harness.Program(t, "chart"), harness.Path(t, "deploy/helm/sluice"), "sluice", "sluice", file).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: %v\n%s", tt.values, err, out)
		}
	}
}
