package peers

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// changes are what the readers must show, in steps of commands for kubectl. A step ends with what marks(name) makes.
var changes = []struct {
	name     string
	commands []string
}{
	{"created", []string{"apply -f objects.yaml"}},
	{"labeled", []string{"label --overwrite -f objects.yaml step=labeled"}},
	{"defined", []string{"apply -f definition.yaml", established, "apply -f custom.yaml"}},
	{"changed", []string{"annotate -f objects.yaml step=changed", "label -f custom.yaml step=new", "delete -n peers pod/created"}},
	{"deleted", []string{"delete -f custom.yaml", "delete -f objects.yaml"}},
	{"undefined", []string{"delete -f definition.yaml", "apply -f objects.yaml"}},
}

const established = "wait --for=condition=Established -f definition.yaml"

// marks are commands that make objects by whose name every reader shows that it has come so far: Prometheus shows no pods
// without an address.
func marks(name string) []string {
	return []string{"run -n peers --image=pause " + name, "create service clusterip -n peers --tcp=80 " + name}
}

// change runs commands of kubectl. Their files are in testdata; CA:FILE is a patch with a file of the control plane.
func change(t *testing.T, commands ...string) {
	t.Helper()
	for _, command := range commands {
		args := strings.Fields(command)
		for i, arg := range args {
			if strings.HasSuffix(arg, ".yaml") {
				args[i] = filepath.Join("testdata", arg)
			} else if file, ok := strings.CutPrefix(arg, "CA:"); ok {
				args[i] = `{"data":{"ca.crt":"` + base64.StdEncoding.EncodeToString(contentOf(t, file)) + `"}}`
			}
		}
		if _, err := kubectl(args...); err != nil {
			t.Fatal(err)
		}
	}
}

// contentOf returns a file of the control plane.
func contentOf(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(plane.Dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// clean removes what changes have left.
func clean(t *testing.T) {
	t.Helper()
	for _, file := range []string{"definition.yaml", "objects.yaml", "injected.yaml", "ca.yaml"} {
		change(t, "delete --ignore-not-found -f "+file)
	}
	change(t, "delete pods,services -n peers --all")
}
