package tables

import (
	"strings"
	"testing"

	"sluice/test/harness"
)

// builtin returns every built-in resource in discovery that can be listed.
func builtin(t *testing.T) (all []harness.Resource) {
	t.Helper()
	listed, err := server.Resources()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range listed {
		if !strings.HasSuffix(r.GV.Group, "example.com") {
			all = append(all, r)
		}
	}
	if len(all) < 80 {
		t.Fatalf("only %d resources", len(all))
	}
	return all
}
