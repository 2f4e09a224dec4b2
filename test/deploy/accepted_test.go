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
	definitions, areReal := definitionsOfOperators(t)
	if out, err := kubectl(t, admin, nil, append([]string{"create"}, definitions...)...); err != nil {
		t.Fatal(out)
	}
	all := string(charted(t, "components")) + string(charted(t, "narrow"))
	dryRun := []string{"apply", "--server-side", "--force-conflicts", "--validate=strict", "--dry-run=server", "-f", "-"}
	harness.Eventually(t, "the operators' objects are known", func() error { // a moment after their definitions are established
		out, err := kubectl(t, admin, []byte(all), dryRun...)
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
		return err
	})
	sets := map[string][]byte{"chart": charted(t), "chart with few rights": charted(t, "narrow")}
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
	fields := []string{"readOnlyRootFilesystem"}
	if areReal {
		fields = append(fields, "rotationPolicy", "issuerRef", "selfSigned", "interval", "metricRelabelings", "authorization", "expr")
	}
	for _, field := range fields {
		wrong := strings.ReplaceAll(all, field+":", field+"s:")
		out, err := kubectl(t, admin, []byte(wrong), dryRun...)
		if err == nil || !strings.Contains(out, field+"s") {
			t.Errorf("the apiserver takes a field %ss: %s", field, out)
		}
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
	c := exec.CommandContext(t.Context(), harness.Program(t, "kubectl"), append([]string{"--kubeconfig", kubeconfig}, args...)...)
	c.Stdin = bytes.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err
}
