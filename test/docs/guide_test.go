package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/test/harness"
)

// guideMark stands above each block.
var guideMark = regexp.MustCompile(`(?m)^<!-- \S+: \S+ -->$`)

// TestEveryBlockOfAGuideIsRun finds each code block of a guide in the test that its mark names: in the Go files
// of a folder by the block's name, and in a script, such as .ci/run, by its commands.
func TestEveryBlockOfAGuideIsRun(t *testing.T) {
	for guide, least := range map[string]int{"docs/deploying.md": 20, "docs/clients.md": 10, "docs/commands.md": 13} {
		t.Run(guide, func(t *testing.T) { checkGuide(t, guide, least) })
	}
}

// checkGuide checks a guide of at least so many blocks.
func checkGuide(t *testing.T, guide string, least int) {
	blocks, err := harness.GuideBlocks(guide)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(guideMark.FindAllString(harness.Read(t, guide), -1)); n < least || n != len(blocks) {
		t.Errorf("%d marks, %d blocks", n, len(blocks))
	}
	seen := map[string]bool{}
	for _, b := range blocks {
		switch info, err := os.Stat(harness.Path(t, b.Test)); {
		case b.Name == "":
			t.Errorf("line %d: no mark says which test runs this block:\n%s", b.Line, b.Text)
		case seen[b.Name]:
			t.Errorf("line %d: another block is named %s", b.Line, b.Name)
		case err != nil:
			t.Errorf("line %d: %v", b.Line, err)
		case !info.IsDir():
			for command := range strings.Lines(b.Text) {
				if !strings.Contains(harness.Read(t, b.Test), "\n"+command) {
					t.Errorf("line %d: %s does not run %s", b.Line, b.Test, command)
				}
			}
		case !strings.Contains(texts(t, filesBelow(t, b.Test, "_test.go")), `"`+b.Name+`"`):
			t.Errorf("line %d: no test in %s runs %s", b.Line, b.Test, b.Name)
		}
		seen[b.Name] = true
	}
}
