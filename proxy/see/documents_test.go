package see

import (
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sluice/proxy/message"
	"sluice/proxy/why"
)

var (
	guided   = regexp.MustCompile(`guide "([^"]*)"`)
	anchored = regexp.MustCompile(`\bid="([^"]*)"`)
	loaded   = regexp.MustCompile(`<[^>]* style=|<script>|<style|src="https?:`)
)

// TestEveryLinkToTheDocumentsLeadsToASection looks for the runbook of each state, the row of each reason, and what pages name.
func TestEveryLinkToTheDocumentsLeadsToASection(t *testing.T) {
	var sections []string
	for _, r := range rules {
		if r.runbook != "" {
			sections = append(sections, runbook(r.runbook))
		}
	}
	for _, a := range message.AllAdvice {
		sections = append(sections, why.Troubleshooting+"#"+a.Reason)
	}
	names, err := fs.Glob(assets, "assets/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := assets.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range guided.FindAllStringSubmatch(string(text), -1) {
			sections = append(sections, found[1])
		}
	}
	if len(sections) < len(message.AllAdvice)+8 {
		t.Errorf("only %d links", len(sections))
	}
	p := newProcess(false)
	for _, section := range sections {
		page, anchor, _ := strings.Cut(guide(section), "#")
		w := p.get(t, page)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %s is %d", section, page, w.Code)
			continue
		}
		found := false
		for _, id := range anchored.FindAllStringSubmatch(w.Body.String(), -1) {
			found = found || id[1] == anchor
		}
		if !found {
			t.Errorf("%s: %s has no section %s", section, page, anchor)
		}
	}
}

// TestDocumentsAreServed: the policy of the page holds for them, too.
func TestDocumentsAreServed(t *testing.T) {
	p := newProcess(false)
	for path, want := range map[string]struct {
		code int
		kind string
	}{
		"/see/docs":                   {http.StatusTemporaryRedirect, ""},
		"/see/docs/":                  {http.StatusOK, "text/html; charset=utf-8"},
		"/see/docs/faq.html":          {http.StatusOK, "text/html; charset=utf-8"},
		"/see/docs/style.css":         {http.StatusOK, "text/css; charset=utf-8"},
		"/see/docs/icon.svg":          {http.StatusOK, "image/svg+xml"},
		"/see/docs/search.js":         {http.StatusOK, "text/javascript; charset=utf-8"},
		"/see/docs/nothing.html":      {http.StatusNotFound, "text/plain; charset=utf-8"},
		"/see/docs/config.yaml":       {http.StatusNotFound, "text/plain; charset=utf-8"},
		"/see/docs/..%2fassets%2fwhy": {http.StatusNotFound, "text/plain; charset=utf-8"},
	} {
		w := p.get(t, path)
		if kind := w.Header().Get("Content-Type"); w.Code != want.code || want.kind != "" && kind != want.kind {
			t.Errorf("%s: %d %q", path, w.Code, kind)
		}
		if w.Header().Get("Content-Security-Policy") != policy {
			t.Errorf("%s has no policy", path)
		}
	}
	for name, text := range documents() {
		if found := loaded.Find(text); strings.HasSuffix(name, ".html") && found != nil {
			t.Errorf("%s: the policy forbids %s", name, found)
		}
	}
}
