package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/proxy/accounts"
	"sluice/test/harness"
)

var update = flag.Bool("update", false, "write the table of accounts into docs/security.md")

// The table stands between these lines of docs/security.md.
const (
	accountsBegin = "<!-- accounts: make docs -->\n"
	accountsEnd   = "<!-- end of accounts -->\n"
)

// TestSecurityHasTheTableOfAccounts: operators read there what callers can hold, from the table that
// counts it.
func TestSecurityHasTheTableOfAccounts(t *testing.T) {
	var table strings.Builder
	table.WriteString("| resource | unit | of memory | total | when it is used up | the refused |\n|---|---|---|---|---|---|\n")
	for _, r := range accounts.All() {
		row := r.Row()
		memory := "1"
		if row.Bytes > 1 {
			memory = fmt.Sprintf("%d KiB", row.Bytes>>10)
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s | %s |\n", row.Name, row.Unit, memory, row.Total, row.Scarce, row.Refusal)
	}
	text := read(t, "docs/security.md")
	before, rest, begins := strings.Cut(text, accountsBegin)
	got, after, ends := strings.Cut(rest, accountsEnd)
	if !begins || !ends {
		t.Fatal("docs/security.md has no place for the table")
	}
	if got == table.String() {
		return
	}
	if !*update {
		t.Fatalf("the table of docs/security.md is old: run make docs\n%s", table.String())
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	written := before + accountsBegin + table.String() + accountsEnd + after
	if err := os.WriteFile(filepath.Join(root, "docs/security.md"), []byte(written), 0o644); err != nil {
		t.Fatal(err)
	}
}
