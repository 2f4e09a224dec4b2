package deploy

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
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

// definitionsOfOperators returns the arguments of kubectl for the definitions, by which the apiserver knows each field, or
// without a network for stand-ins.
func definitionsOfOperators(t *testing.T) (args []string, areReal bool) {
	t.Helper()
	for _, o := range operators {
		dir := download(t, o.module, o.sum)
		if dir == "" {
			return []string{"--filename=" + harness.Path(t, "test/deploy/testdata/crds")}, false
		}
		for _, file := range o.files {
			args = append(args, "--filename="+filepath.Join(dir, file))
		}
	}
	return args, true
}

// download returns the directory of a Go module, or nothing without a network.
func download(t *testing.T, module, sum string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	c.Dir = t.TempDir()                        // in no module
	c.Env = append(c.Environ(), "GONOSUMDB=*") // the sum is checked below
	out, _ := c.Output()
	var found struct{ Dir, Sum, Error string }
	if err := json.Unmarshal(out, &found); err != nil || found.Dir == "" {
		t.Logf("%s cannot be downloaded: %s", module, found.Error)
		return ""
	}
	if found.Sum != sum {
		t.Fatalf("%s has the sum %s, want %s", module, found.Sum, sum)
	}
	return found.Dir
}
