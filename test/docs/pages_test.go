package docs

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/docs/site"
	"sluice/test/harness"
)

// pages returns the paths of all documents.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS(harness.Path(t, ".")), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case d != nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == "bin" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case err == nil && strings.HasSuffix(path, ".md"):
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) < 10 {
		t.Fatalf("documents %q, %v", found, err)
	}
	return found
}

// proseOf returns the lines of a document that are not code.
func proseOf(text string) (prose []string) {
	fenced := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case !fenced && !strings.HasPrefix(line, "    "):
			prose = append(prose, strings.TrimSuffix(line, "\n"))
		}
	}
	return prose
}

var id = regexp.MustCompile(`<a id="([^"]+)">`)

// anchors returns the names by which links point to the headings of a document, and to rows of tables.
func anchors(text string) []string {
	var found []string
	for _, line := range proseOf(text) {
		for _, named := range id.FindAllStringSubmatch(line, -1) {
			found = append(found, named[1])
		}
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
			found = append(found, site.Anchor(heading))
		}
	}
	return found
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksLeadToFilesAndHeadings(t *testing.T) {
	for _, page := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(strings.Join(proseOf(harness.Read(t, page)), "\n"), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = path.Join(path.Dir(page), target)
			}
			if _, err := os.Stat(harness.Path(t, file)); err != nil {
				t.Errorf("%s: %s: %v", page, found[1], err)
			} else if anchor != "" && !slices.Contains(anchors(harness.Read(t, file)), anchor) {
				t.Errorf("%s: %s: no such heading", page, found[1])
			}
		}
	}
}

func TestTheIndexNamesEveryPage(t *testing.T) {
	index := harness.Read(t, "docs/README.md")
	for _, page := range pages(t) {
		if name, inside := strings.CutPrefix(page, "docs/"); inside && name != "README.md" && !strings.Contains(index, "("+name) {
			t.Errorf("docs/README.md does not lead to %s", page)
		}
	}
}
