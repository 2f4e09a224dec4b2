package docs

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"sluice/proxy/accounts"
	"sluice/test/harness"
)

var update = flag.Bool("update", false, "write the tables that come from the code into docs")

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
	harness.CheckGenerated(t, "docs/security.md", "accounts", table.String(), *update)
}
