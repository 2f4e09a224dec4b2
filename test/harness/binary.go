package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Binary returns the path of a program in the repository's bin directory.
func Binary(name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: run make build controlplane", err)
	}
	return path, nil
}

// Root returns the root of the repository: the nearest parent directory with the go.mod of module sluice.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module sluice\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of module sluice above %s", start)
		}
	}
}

// Program is Binary for a test.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := Binary(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Path returns the path of a file of the repository.
func Path(t testing.TB, name string) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, name)
}

// Read returns the text of a file of the repository.
func Read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
