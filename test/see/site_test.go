package see

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"sluice/docs"
	"sluice/docs/site"
	"sluice/proxy/see"
	"sluice/test/harness"
)

// TestSiteFitsTheScreen looks at each page of the documents as a browser shows it: those that the program serves, and those of
// the repository's root.
func TestSiteFitsTheScreen(t *testing.T) {
	b := openBrowser(t)
	mux := http.NewServeMux()
	mux.Handle("/", see.NewSampler(see.Options{}).Handler())
	mux.Handle("/root/", http.StripPrefix("/root", http.FileServerFS(pagesOfTheRoot(t))))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	pages := []string{"/root/index.html", "/root/contents.html", "/root/contributing.html", "/see/docs/config.html"}
	names, err := fs.Glob(docs.Files, "*.md")
	if err != nil || len(names) < 15 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range names {
		pages = append(pages, "/see/docs/"+site.URL("docs/"+name))
	}
	for _, look := range []struct {
		width  int
		scheme string
	}{{360, "dark"}, {1920, "light"}} {
		b.screen(t, look.width, look.scheme)
		for _, page := range pages {
			name := fmt.Sprintf("site-%s-%d", path.Base(page), look.width)
			b.open(t, server.URL+page)
			if wide := b.evaluate(t, tooWide); wide != "" {
				t.Errorf("%s is wider than the screen: %s", name, wide)
			}
			if strings.HasSuffix(page, "/security.html") { // all have one style sheet, and this one every kind of text
				if low := b.evaluate(t, contrast); low != "" {
					t.Errorf("%s has texts of little contrast: %s", name, low)
				}
			}
		}
	}
}

// pagesOfTheRoot returns the site of the documents that the program does not carry.
func pagesOfTheRoot(t *testing.T) fstest.MapFS {
	t.Helper()
	sources := map[string][]byte{}
	for name, file := range map[string]string{
		"README.md": "README.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "docs/README.md": "docs/README.md",
		"docs/icon.svg": "proxy/see/assets/icon.svg", "docs/demo.svg": "docs/demo.svg",
	} {
		sources[name] = []byte(harness.Read(t, file))
	}
	built, err := site.Build(sources, "")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for name, text := range built {
		files[name] = &fstest.MapFile{Data: text}
	}
	return files
}

// tooWide yields the beginning of what is wider than the screen. Code scrolls in a box of its own.
const tooWide = `[...document.querySelectorAll("body, body *:not(pre *)")]
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(e => e.tagName + " " + e.textContent.trim().slice(0, 40)).slice(0, 3).join("; ")`

// TestSiteFindsWordsAndCopiesCode uses the script of the documents, under the policy of the page.
func TestSiteFindsWordsAndCopiesCode(t *testing.T) {
	b := openBrowser(t)
	server := httptest.NewServer(see.NewSampler(see.Options{}).Handler())
	t.Cleanup(server.Close)
	b.screen(t, 1920, "light")
	b.open(t, server.URL+"/see/docs/deploying.html")
	found := b.evaluate(t, `(async () => {
	  search.dispatchEvent(new Event("focus"));
	  await new Promise((loaded) => document.head.lastChild.addEventListener("load", loaded));
	  search.value = "kubectl small-read";
	  search.dispatchEvent(new Event("input"));
	  return [...found.querySelectorAll("a")].map((a) => a.getAttribute("href")).join(" ");
	})()`)
	if !strings.Contains(found, "faq.html#") {
		t.Errorf("a search for small-read finds %q", found)
	}
	copied := b.evaluate(t, `(async () => {
	  let copied;
	  navigator.clipboard.writeText = async (text) => { copied = text; };
	  document.querySelector("main pre button").click();
	  return copied;
	})()`)
	if strings.TrimSpace(copied) != "make image" {
		t.Errorf("the first button copies %q", copied)
	}
}
