package docs

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/test/docs/configdocs"
	"sluice/test/harness"
)

// TestConfigurationFilesAreThoseOfTheTypes: whoever changes a field or its comment runs make docs.
func TestConfigurationFilesAreThoseOfTheTypes(t *testing.T) {
	files, err := configdocs.Files(harness.Path(t, "."))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		if *update {
			if err := os.WriteFile(harness.Path(t, path), want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(want), harness.Read(t, path)); diff != "" {
			t.Errorf("run make docs: %s (-generated +is):\n%s", path, diff)
		}
	}
}
