package harness

import (
	"os"
	"strings"
	"testing"
)

// CheckGenerated compares a part of a document with the text that the code gives for it, or writes the text there if
// update is set. The part stands between two comments with its name.
func CheckGenerated(t testing.TB, page, name, text string, update bool) {
	t.Helper()
	begin, end := "<!-- "+name+": make docs -->\n", "<!-- end of "+name+" -->\n"
	before, rest, begins := strings.Cut(Read(t, page), begin)
	got, after, ends := strings.Cut(rest, end)
	switch {
	case !begins || !ends:
		t.Fatalf("%s has no place for %s", page, name)
	case got == text:
	case !update:
		t.Errorf("%s of %s are old: run make docs\n%s", name, page, text)
	default:
		if err := os.WriteFile(Path(t, page), []byte(before+begin+text+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
