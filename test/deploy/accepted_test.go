package deploy

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"sluice/test/harness"
)

// TestApiserverAcceptsEveryObject sends each set of objects to a real kube-apiserver, as a dry run with strict
// field validation, into a namespace of restricted pod security.
func TestApiserverAcceptsEveryObject(t *testing.T) {
	t.Parallel()
	admin := harness.Start(t).Kubeconfig("admin")
	apply(t, admin, program(t, "kubectl", "create", "namespace", "sluice", "--dry-run=client", "-o", "yaml"))
	if warnings := apply(t, admin, kustomized(t, "deploy/kustomize/base"), "--dry-run=server"); warnings != "" {
		t.Errorf("base: %s", warnings)
	}
	if _, err := kubectl(t, admin, nil, "label", "namespace", "sluice", "pod-security.kubernetes.io/warn=restricted"); err != nil {
		t.Fatal(err)
	}
	if _, err := kubectl(t, admin, nil, "apply", "-f", path(t, "test/deploy/testdata/crds")); err != nil {
		t.Fatal(err)
	}
	if _, err := kubectl(t, admin, nil, "wait", "--for=condition=Established", "--timeout=3m", "-f", path(t, "test/deploy/testdata/crds")); err != nil {
		t.Fatal(err)
	}
	awaitDefined(t, admin)
	sets := map[string][]byte{"client": kustomized(t, "test/deploy/testdata/client"), "sidecar": kustomized(t, "test/deploy/testdata/sidecar"),
		"chart": charted(t), "chart with few rights": charted(t, "narrow")}
	for _, p := range pairs {
		sets["chart with "+p.values] = charted(t, p.values)
		sets[p.kustomization] = kustomized(t, p.kustomization)
	}
	for name, set := range sets {
		if warnings := apply(t, admin, set, "--dry-run=server"); warnings != "" {
			t.Errorf("%s: %s", name, warnings)
		}
	}
	weak := bytes.ReplaceAll(kustomized(t, "deploy/kustomize/base"), []byte("allowPrivilegeEscalation: false"), []byte("allowPrivilegeEscalation: true"))
	if warnings := apply(t, admin, weak, "--dry-run=server"); !strings.Contains(warnings, "allowPrivilegeEscalation") {
		t.Errorf("the apiserver does not check pod security: %s", warnings)
	}
	wrong := bytes.ReplaceAll(kustomized(t, "deploy/kustomize/base"), []byte("readOnlyRootFilesystem"), []byte("readOnlyRootFileSystem"))
	if out, err := kubectl(t, admin, wrong, "apply", "--server-side", "--validate=strict", "--dry-run=server", "-f", "-"); err == nil {
		t.Errorf("the apiserver does not check fields: %s", out)
	}
}

// awaitDefined waits until the apiserver serves every custom resource that is defined: in discovery
// it appears a moment after its definition is established.
func awaitDefined(t *testing.T, kubeconfig string) {
	t.Helper()
	names, err := kubectl(t, kubeconfig, nil, "get", "customresourcedefinitions", "--output=jsonpath={.items[*].metadata.name}")
	if err != nil || len(strings.Fields(names)) == 0 {
		t.Fatalf("%v\n%s", err, names)
	}
	for _, name := range strings.Fields(names) {
		harness.Eventually(t, name+" are served", func() error {
			out, err := kubectl(t, kubeconfig, nil, "get", name, "--all-namespaces")
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, out)
			}
			return err
		})
	}
}

// apply applies objects and returns the warnings of the apiserver. The control plane has a ClusterRole sluice
// of its own.
func apply(t *testing.T, kubeconfig string, set []byte, flags ...string) string {
	t.Helper()
	out, err := kubectl(t, kubeconfig, set, append([]string{"apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"}, flags...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var warnings []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "Warning:") {
			warnings = append(warnings, line)
		}
	}
	return strings.Join(warnings, "")
}

func kubectl(t *testing.T, kubeconfig string, stdin []byte, args ...string) (string, error) {
	t.Helper()
	binary, err := harness.Binary("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), binary, append([]string{"--kubeconfig", kubeconfig}, args...)...)
	c.Stdin = bytes.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err
}
