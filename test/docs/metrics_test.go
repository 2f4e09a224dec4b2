package docs

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/proxy/message"
	"sluice/proxy/why"
	"sluice/test/harness"
)

// goFiles returns the paths of all Go files below a folder, without tests.
func goFiles(t *testing.T, folder string) (paths []string) {
	t.Helper()
	isTest := func(path string) bool { return strings.HasSuffix(path, "_test.go") }
	return slices.DeleteFunc(filesBelow(t, folder, ".go"), isTest)
}

// filesBelow returns the paths of all files below a folder whose names end so.
func filesBelow(t *testing.T, folder, ending string) (paths []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(harness.Path(t, ".")), folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ending) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// texts returns the texts of files as one.
func texts(t *testing.T, paths []string) string {
	t.Helper()
	var all strings.Builder
	for _, path := range paths {
		all.WriteString(harness.Read(t, path))
	}
	return all.String()
}

// TestSecurityNamesTestsThatExist looks for each test that docs/security.md names.
func TestSecurityNamesTestsThatExist(t *testing.T) {
	exists := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, folder := range []string{"cmd", "proxy", "codec", "cache", "config", "test"} {
		for _, found := range declared.FindAllStringSubmatch(texts(t, filesBelow(t, folder, "_test.go")), -1) {
			exists[found[1]] = true
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(harness.Read(t, "docs/security.md")+harness.Read(t, "docs/failures.md"), -1)
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
	text, reasons := harness.Read(t, "docs/metrics.md"), map[string]bool{"roll-call": true}
	for _, tt := range []struct{ what, folder, form string }{
		{"reasons", "proxy", `\bReason: "([a-z-]+)"`},
		{"reasons", "proxy", `\breason[A-Z]\w+ += "([a-z-]+)"`},
		{"reasons", "proxy", `\bconst \w+ = "(too-[a-z-]+)"`},
		{"reasons", "proxy/serve/outcome", `\b(?:Hit|Pass) += "([a-z-]+)"`},
		{"proofs", "cache", `\bProof += "([a-z-]+)"`},
		{"decisions", "proxy/connect", `decision\w+ += "([a-z-]+)"`},
		{"reasons", "proxy/resources", `(?m)^\t[A-Z]\w+ += "([a-z-]+)"`},
	} {
		found := regexp.MustCompile(tt.form).FindAllStringSubmatch(texts(t, goFiles(t, tt.folder)), -1)
		if len(found) == 0 {
			t.Errorf("no %s in %s: the pattern is wrong", tt.what, tt.folder)
		}
		for _, f := range found {
			if !strings.Contains(text, "`"+f[1]+"`") {
				t.Errorf("%s: %s is not in docs/metrics.md", tt.what, f[1])
			}
			if tt.what != "decisions" {
				reasons[f[1]] = true
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
		if !slices.Contains(anchors(harness.Read(t, page)), anchor) {
			t.Errorf("%s has no row %s", page, anchor)
		}
	}
}
