package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEmbeddedFilesAreThoseOfTheTypes: whoever changes a field or its comment runs make docs.
func TestEmbeddedFilesAreThoseOfTheTypes(t *testing.T) {
	files, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("run make docs: %s (-generated +is):\n%s", name, diff)
		}
	}
}

func TestNoLineOfTheDefaultsIsLong(t *testing.T) {
	files, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(files["../defaults.yaml"])) {
		if len(line) > lineWidth+1 {
			t.Errorf("a long line: %s", line)
		}
	}
}
