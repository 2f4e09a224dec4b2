package docs

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/docs/site"
	"sluice/test/harness"
)

var siteFolder = flag.String("site", "", "build the site of the documents in this folder")

var (
	reference = regexp.MustCompile(`\b(?:href|src)="([^"]*)"`)
	named     = regexp.MustCompile(`\bid="([^"]*)"`)
	searched  = regexp.MustCompile(`"url":"([^"]*)"`)
)

// TestEveryLinkOfTheSiteLeadsToAPageOrSection builds the site, which loads nothing from elsewhere.
func TestEveryLinkOfTheSiteLeadsToAPageOrSection(t *testing.T) {
	out := *siteFolder
	if out == "" {
		out = t.TempDir()
	}
	build(t, out)
	files, err := filepath.Glob(filepath.Join(out, "*.html"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	pages, sections := map[string]string{}, map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		pages[name] = string(text)
		for _, found := range named.FindAllStringSubmatch(string(text), -1) {
			if id := name + "#" + found[1]; sections[id] {
				t.Errorf("%s is twice there", id)
			}
			sections[name+"#"+found[1]] = true
		}
	}
	for name, text := range pages {
		for _, found := range reference.FindAllStringSubmatch(text, -1) {
			target, section, inside := strings.Cut(found[1], "#")
			if target == "" {
				target = name
			}
			if _, err := os.Stat(filepath.Join(out, target)); err != nil && !strings.HasPrefix(found[0], `href="https://`) {
				t.Errorf("%s: %s leads nowhere", name, found[1])
			} else if inside && !sections[target+"#"+section] {
				t.Errorf("%s: %s: no such section", name, found[1])
			}
		}
		if strings.Count(text, "<script") != 1 || strings.Contains(text, "```") {
			t.Errorf("%s has other scripts than that of the site, or Markdown", name)
		}
	}
	if !strings.Contains(pages["index.html"], `<img src="demo.svg"`) || !strings.Contains(pages["index.html"], `href="contents.html"`) {
		t.Error("the first page is not the README with its picture")
	}
	index, err := os.ReadFile(filepath.Join(out, "search.js"))
	found := searched.FindAllStringSubmatch(string(index), -1)
	if err != nil || len(found) < 150 {
		t.Errorf("a search finds one of %d sections: %v", len(found), err)
	}
	for _, f := range found {
		if strings.Contains(f[1], "#") && !sections[f[1]] {
			t.Errorf("the search leads to %s, which is no section", f[1])
		}
	}
}

// build writes the site of the repository into a folder.
func build(t *testing.T, out string) {
	t.Helper()
	root := os.DirFS(harness.Path(t, "."))
	sources := map[string][]byte{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*.yaml", "docs/*.svg", "docs/performance/*", "proxy/see/assets/icon.svg"} {
		names, err := fs.Glob(root, pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %q, %v", pattern, names, err)
		}
		for _, name := range names {
			if sources[name], err = fs.ReadFile(root, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	sources["docs/icon.svg"] = sources["proxy/see/assets/icon.svg"]
	delete(sources, "proxy/see/assets/icon.svg")
	pages, err := site.Build(sources, "")
	for name, text := range pages {
		file := filepath.Join(out, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}
