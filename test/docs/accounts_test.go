package docs

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// taking is a call by which an account takes something, and what it takes.
var taking = regexp.MustCompile(`\.(Take\w*)\(([\w.]+(?:\(\))?), `)

// taken are the resources of an expression that names none.
var taken = map[string][]accounts.Resource{
	"info.Memory()": {accounts.Unverified, accounts.Bodies},   // of a request
	"resource":      {accounts.Unverified, accounts.Requests}, // of one to the admin listener
}

// TestAccountsLoseWhatTheTableSays compares what the table says happens when a total is used up with how the code takes each
// resource: so that it can be taken back, or so that one account leaves a quarter.
func TestAccountsLoseWhatTheTableSays(t *testing.T) {
	byName := map[string][]accounts.Resource{}
	for _, r := range accounts.All() {
		name := r.String()
		byName["accounts."+strings.ToUpper(name[:1])+name[1:]] = []accounts.Resource{r}
	}
	ends, leaves := map[accounts.Resource]bool{}, map[accounts.Resource]bool{}
	err := filepath.WalkDir(filepath.Join("..", "..", "proxy"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, call := range taking.FindAllStringSubmatch(string(text), -1) {
			resources := append(byName[call[2]], taken[call[2]]...)
			if resources == nil && strings.Contains(call[2], "accounts.") {
				t.Errorf("%s: %s is in no row", path, call[2])
			}
			for _, r := range resources {
				ends[r], leaves[r] = ends[r] || call[1] != "Take", leaves[r] || call[1] == "Take"
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range accounts.All() {
		scarce := r.Row().Scarce
		if says := strings.Contains(scarce, "close") || strings.Contains(scarce, "ends"); says != ends[r] {
			t.Errorf("%s: something ends: %v; the table says %q", r, ends[r], scarce)
		}
		if says := strings.Contains(scarce, "three times what is free"); says != leaves[r] {
			t.Errorf("%s: one account leaves a quarter: %v; the table says %q", r, leaves[r], scarce)
		}
	}
}
