package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/test/harness"
)

// TestPerformancePageShowsItsReports checks that the texts beside docs/performance.md are what this program prints
// of the reports, and that the page links them. It does not check the figures of the page.
func TestPerformancePageShowsItsReports(t *testing.T) {
	docs := filepath.Join(must(harness.Root()), "docs")
	read := func(path string) string { return string(must(os.ReadFile(filepath.Join(docs, path)))) }
	page := read("performance.md")
	reports := must(filepath.Glob(filepath.Join(docs, "performance", "*.json")))
	if len(reports) == 0 {
		t.Fatal("no report")
	}
	for _, path := range reports {
		r := loadReport(path)
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		var tables bytes.Buffer
		r.print(&tables)
		if text := "performance/" + name + ".txt"; !strings.Contains(page, "("+text+")") || read(text) != tables.String() {
			t.Errorf("%s is not linked, or not what bin/bench --from docs/performance/%s.json prints", text, name)
		}
		if date := r.Date.Format("2006-01-02"); !strings.Contains(page, date) {
			t.Errorf("performance.md lacks the date of %s.json, %s", name, date)
		}
	}
}
