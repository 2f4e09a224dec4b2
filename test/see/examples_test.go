package see

import (
	"path/filepath"
	"strings"
	"testing"

	"sluice/test/harness"
)

// runExamples runs the examples of each command, as its help and docs/commands.md have them. They stand in an order in which
// one writes what another one reads; their texts are replaced where addresses differ. The kubeconfig is that of the apiserver.
func runExamples(t *testing.T, s *harness.Sluice, apiserver string) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	g := harness.NewGuide(t, "docs/commands.md", "test/see", kubeconfig)
	g.Shell("cp " + apiserver + " " + kubeconfig)
	admin := " --address " + s.Admin
	for _, tt := range []struct {
		name     string
		replaces []string
		prints   string
	}{
		{"version", nil, "sluice "},
		{"config-defaults", nil, ""},
		{"config-check", nil, "sluice.yaml: valid"},
		{"config-schema", nil, ""},
		{"certificate", []string{" | kubectl apply -f -", ""}, "namespace: inventory"},
		{"kubeconfig", []string{"https://127.0.0.1:8443", s.URL, "~/.local/state/sluice/ca.crt", filepath.Join(s.Dir, "ca.crt"), " --restore --write", " --restore"}, "clusters:"},
		{"verify", nil, "configmaps.v1: equal at version "},
		{"why", []string{"sluice why --last", "sluice why" + admin + " --last"}, "any-version"},
		{"clients", []string{"sluice clients", "sluice clients" + admin}, "configmaps.v1"},
		{"watches", []string{"sluice watches", "sluice watches" + admin}, "kind: OpenWatchList"},
		{"status", []string{"sluice status", "sluice status" + admin}, "kind: Status"},
		{"bundle", []string{"sluice bundle", "sluice bundle" + admin}, "requests-served.json"},
	} {
		if out := g.Run(tt.name, tt.replaces...); !strings.Contains(out, tt.prints) {
			t.Errorf("the examples of %s print no %q:\n%s", tt.name, tt.prints, out)
		}
	}
	for _, command := range g.Commands("serve") {
		if url, _ := g.Serve(strings.TrimSpace(command) + " --listen 127.0.0.1:0"); !strings.HasPrefix(url, "https://") {
			t.Errorf("%s listens at %q", command, url)
		}
	}
}
