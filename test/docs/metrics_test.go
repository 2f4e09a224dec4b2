package docs

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/proxy/message"
	"sluice/proxy/why"
	"sluice/test/harness"
)

func read(t *testing.T, path string) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// goFiles returns the paths of all Go files below a folder, without tests.
func goFiles(t *testing.T, folder string) (paths []string) {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS(root), folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// sources returns the text of all Go files below a folder, without tests.
func sources(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	for _, path := range goFiles(t, folder) {
		all.WriteString(read(t, path))
	}
	return all.String()
}

// TestSecurityNamesTestsThatExist looks for each test that docs/security.md names.
func TestSecurityNamesTestsThatExist(t *testing.T) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, folder := range []string{"cmd", "proxy", "codec", "cache", "config", "test"} {
		err := fs.WalkDir(os.DirFS(root), folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, "_test.go") {
				for _, found := range declared.FindAllStringSubmatch(read(t, path), -1) {
					exists[found[1]] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(read(t, "docs/security.md")+read(t, "docs/failures.md"), -1)
	if len(named) < 20 {
		t.Errorf("docs/security.md and failures.md name %d tests", len(named))
	}
	for _, name := range named {
		if !exists[name[1]] {
			t.Errorf("%s, of docs/security.md or failures.md, does not exist", name[1])
		}
	}
}

// TestMetricsPageListsEveryName finds reasons and decisions in the source by their form, and looks for
// each in docs/metrics.md.
func TestMetricsPageListsEveryName(t *testing.T) {
	text, reasons := read(t, "docs/metrics.md"), map[string]bool{"roll-call": true}
	for _, tt := range []struct{ what, folder, form, as string }{
		{"reasons", "proxy", `\bReason: "([a-z-]+)"`, "`%`"},
		{"reasons", "proxy", `\breason[A-Z]\w+ += "([a-z-]+)"`, "`%`"},
		{"reasons", "proxy", `\bconst \w+ = "(too-[a-z-]+)"`, "`%`"},
		{"reasons", "proxy/serve/outcome", `\b(?:Hit|Pass) += "([a-z-]+)"`, "`%`"},
		{"proofs", "cache", `\bProof += "([a-z-]+)"`, "`%`"},
		{"decisions", "proxy/connect", `decision\w+ += "([a-z-]+)"`, "`%`"},
		{"reasons", "proxy/resources", `(?m)^\t[A-Z]\w+ += "([a-z-]+)"`, "`%`"},
	} {
		found := regexp.MustCompile(tt.form).FindAllStringSubmatch(sources(t, tt.folder), -1)
		if len(found) == 0 {
			t.Errorf("no %s in %s: the pattern is wrong", tt.what, tt.folder)
		}
		for _, f := range found {
			want := strings.ReplaceAll(tt.as, "%", f[1])
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s is not in docs/metrics.md", tt.what, want)
			}
			if tt.what == "reasons" || tt.what == "proofs" {
				reasons[strings.Trim(want, "`")] = true
			}
		}
	}
	for reason := range reasons {
		if _, known := message.AdviceFor(reason); !known {
			t.Errorf("package message has no advice for the reason %s", reason)
		}
	}
	for _, a := range message.AllAdvice {
		if !reasons[a.Reason] {
			t.Errorf("package message has advice for %s, which is no reason", a.Reason)
		}
	}
}

// TestTroubleshootingHasAdviceForEveryReason: pages and commands link to the row of a reason.
func TestTroubleshootingHasAdviceForEveryReason(t *testing.T) {
	var table strings.Builder
	table.WriteString("| reason | what to do |\n|---|---|\n")
	for _, a := range message.AllAdvice {
		fmt.Fprintf(&table, "| <a id=\"%s\"></a>`%[1]s` | %s |\n", a.Reason, cmp.Or(a.Do, "nothing: it is as it should be"))
	}
	harness.CheckGenerated(t, why.Troubleshooting, "reasons", table.String(), *update)
	for _, a := range message.AllAdvice {
		page, anchor, _ := strings.Cut(why.New("passed", a.Reason, "").Doc, "#")
		if !slices.Contains(anchors(read(t, page)), anchor) {
			t.Errorf("%s has no row %s", page, anchor)
		}
	}
}
