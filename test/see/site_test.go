package see

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"sluice/test/docs/site"
	"sluice/test/harness"
)

// TestSiteFitsTheScreen looks at each page of the documents as a browser shows it.
func TestSiteFitsTheScreen(t *testing.T) {
	b := openBrowser(t)
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := site.Build(root, out); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(out)))
	t.Cleanup(server.Close)
	pages, err := filepath.Glob(filepath.Join(out, "*.html"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, look := range []struct {
		width  int
		scheme string
	}{{360, "dark"}, {1920, "light"}} {
		b.screen(t, look.width, look.scheme)
		for _, page := range pages {
			name := fmt.Sprintf("site-%s-%d", filepath.Base(page), look.width)
			b.open(t, server.URL+"/"+filepath.Base(page))
			if wide := b.evaluate(t, tooWide); wide != "" {
				t.Errorf("%s is wider than the screen: %s", name, wide)
			}
			if strings.HasSuffix(page, "/security.html") { // all have one style sheet, and this one every kind of text
				if low := b.evaluate(t, contrast); low != "" {
					t.Errorf("%s has texts of little contrast: %s", name, low)
				}
			}
			b.keep(t, name)
		}
	}
	for _, report := range b.reports {
		t.Errorf("the console reports %s", report)
	}
}

// tooWide yields the beginning of what is wider than the screen. Code scrolls in a box of its own.
const tooWide = `[...document.querySelectorAll("body, body *:not(pre *)")]
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(e => e.tagName + " " + e.textContent.trim().slice(0, 40)).slice(0, 3).join("; ")`
