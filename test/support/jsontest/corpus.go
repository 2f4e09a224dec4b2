package jsontest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// File is one JSON object with its name.
type File struct {
	Name string // group.version.Kind for files of the corpus
	JSON []byte // compact, without a newline at the end
}

// Corpus returns every JSON file of k8s.io/api/testdata/HEAD: one object of each kind with every
// field set.
func Corpus(t testing.TB) []File {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatalf("locate k8s.io/api: %v", err)
	}
	paths, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "HEAD", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	files := make([]File, 0, len(paths))
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, b); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		files = append(files, File{Name: name, JSON: compact.Bytes()})
	}
	return files
}
