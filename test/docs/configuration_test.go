package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/docs"
	"sluice/test/docs/configdocs"
	"sluice/test/harness"
)

// TestConfigurationFilesAreThoseOfTheTypes: whoever changes a field or its comment runs make docs.
func TestConfigurationFilesAreThoseOfTheTypes(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := configdocs.Files(root)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		if *update {
			if err := os.WriteFile(filepath.Join(root, path), want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(want), read(t, path)); diff != "" {
			t.Errorf("run make docs: %s (-generated +is):\n%s", path, diff)
		}
	}
}

func TestNoLineOfTheDefaultsIsLong(t *testing.T) {
	const width = 100
	for line := range strings.Lines(string(docs.Config)) {
		if len(line) > width+1 {
			t.Errorf("a long line: %s", line)
		}
	}
}
