package docs

import (
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sluice/test/harness"
)

// price is a row of the price list of docs/architecture.md: a package, its lines and its noun.
var price = regexp.MustCompile("(?m)^\\| `([\\w/]+)` \\| ([\\d,]+) \\| (.+) \\|$")

// TestPriceListHasTheSizeOfEveryPackage: the list names each package of the product with its lines, within a tenth or 100.
// Below it, each package above 1,000 lines has its reason.
func TestPriceListHasTheSizeOfEveryPackage(t *testing.T) {
	const page = "docs/architecture.md"
	sizes := map[string]int{}
	for _, folder := range []string{"cache", "cmd", "codec", "config", "deploy", "docs", "proxy"} {
		for _, f := range goFiles(t, folder) {
			sizes[path.Dir(f)] += strings.Count(harness.Read(t, f), "\n")
		}
	}
	text := harness.Read(t, page)
	if *update {
		text = price.ReplaceAllStringFunc(text, func(row string) string {
			found := price.FindStringSubmatch(row)
			size := message.NewPrinter(language.English).Sprint(sizes[found[1]])
			return strings.Replace(row, "| "+found[2]+" |", "| "+size+" |", 1)
		})
		if err := os.WriteFile(harness.Path(t, page), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range price.FindAllStringSubmatch(text, -1) {
		says, err := strconv.Atoi(strings.ReplaceAll(row[2], ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		size, exists := sizes[row[1]]
		switch off := max(says-size, size-says); {
		case !exists:
			t.Errorf("%s has a row for %s, which does not exist", page, row[1])
		case off > size/10 && off > 100:
			t.Errorf("%s: %s has %d lines, not %d: run make docs", page, row[1], size, says)
		case size > 1000 && !strings.Contains(text, "\n- `"+row[1]+"`: "):
			t.Errorf("%s does not say why %s is worth %d lines", page, row[1], size)
		}
		delete(sizes, row[1])
	}
	for name, size := range sizes {
		t.Errorf("%s has no row for %s, %d lines", page, name, size)
	}
}
