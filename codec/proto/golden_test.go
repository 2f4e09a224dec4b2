package proto

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// A message is the Go type of any kind.
type message interface {
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
	Reset()
}

// newObject returns an empty object of a kind.
func newObject(t testing.TB, apiVersion, kind string) message {
	t.Helper()
	typ, ok := registered()[kindKey{apiVersion, kind}]
	if !ok {
		t.Fatalf("no kind %s %s", apiVersion, kind)
	}
	return reflect.New(typ).Interface().(message)
}

// mustLookup returns the schema of a kind.
func mustLookup(t testing.TB, apiVersion, kind string) *Schema {
	t.Helper()
	m, ok := Lookup(apiVersion, kind)
	if !ok {
		t.Fatalf("no schema of %s %s", apiVersion, kind)
	}
	return m
}

// apiDir is the directory of the module k8s.io/api.
var apiDir = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	return strings.TrimSpace(string(out)), err
})

// goldenFiles returns the test data of k8s.io/api for a release, envelopes by file name.
func goldenFiles(t testing.TB, version string) map[string][]byte {
	t.Helper()
	dir, err := apiDir()
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "testdata", version, "*.pb"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no examples for %s: %v", version, err)
	}
	files := make(map[string][]byte, len(names))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = b
	}
	return files
}
