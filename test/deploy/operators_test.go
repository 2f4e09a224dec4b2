package deploy

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/test/harness"
)

// operators are the Go modules with the definitions of the custom resources that the chart creates:
// released versions, which the Go module proxy keeps, and the checksums of go.sum.
var operators = []struct {
	module, sum string
	files       []string
}{
	{"github.com/cert-manager/cert-manager@v1.21.2", "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
		[]string{"deploy/crds/cert-manager.io_certificates.yaml", "deploy/crds/cert-manager.io_issuers.yaml"}},
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
		[]string{"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml", "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"}},
}

// download returns the directory of a Go module, or skips the test without a network.
func download(t *testing.T, module, sum string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	c.Dir = t.TempDir()                        // in no module
	c.Env = append(c.Environ(), "GONOSUMDB=*") // the sum is checked below
	out, _ := c.Output()
	var found struct{ Dir, Sum, Error string }
	if err := json.Unmarshal(out, &found); err != nil || found.Dir == "" {
		t.Skipf("%s cannot be downloaded: %s", module, found.Error)
	}
	if found.Sum != sum {
		t.Fatalf("%s has the sum %s, want %s", module, found.Sum, sum)
	}
	return found.Dir
}

// TestOperatorsDefineEveryField sends the objects for cert-manager and for the Prometheus operator
// to a kube-apiserver that has their real definitions, which knows each field then.
func TestOperatorsDefineEveryField(t *testing.T) {
	t.Parallel()
	var definitions []string
	for _, o := range operators {
		dir := download(t, o.module, o.sum)
		for _, file := range o.files {
			definitions = append(definitions, "--filename="+filepath.Join(dir, file))
		}
	}
	admin := harness.Start(t).Kubeconfig("admin")
	for _, args := range [][]string{{"create", "namespace", "sluice"}, append([]string{"create"}, definitions...),
		append([]string{"wait", "--for=condition=Established", "--timeout=3m"}, definitions...)} {
		if out, err := kubectl(t, admin, nil, args...); err != nil {
			t.Fatal(out)
		}
	}
	awaitDefined(t, admin)
	for name, set := range map[string][]byte{
		"components": kustomized(t, "test/deploy/testdata/components"), "proxy": kustomized(t, "test/deploy/testdata/proxy"),
		"chart with components": charted(t, "components"), "chart with proxy": charted(t, "proxy"),
		"chart with an issuer": charted(t, "narrow"),
	} {
		if warnings := apply(t, admin, set, "--dry-run=server"); warnings != "" {
			t.Errorf("%s: %s", name, warnings)
		}
	}
	all := string(charted(t, "components")) + string(charted(t, "narrow"))
	for _, field := range []string{"rotationPolicy", "issuerRef", "selfSigned", "interval", "metricRelabelings", "authorization", "expr"} {
		wrong := strings.ReplaceAll(all, field+":", field+"s:")
		if out, err := kubectl(t, admin, []byte(wrong), "apply", "--server-side", "--validate=strict", "--dry-run=server", "-f", "-"); err == nil || !strings.Contains(out, field+"s") {
			t.Errorf("%ss is a field: %s", field, out)
		}
	}
}
