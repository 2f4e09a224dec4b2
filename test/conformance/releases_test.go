package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"sluice/test/harness"
)

var (
	record = flag.String("record", "", "write the answers to all rows into this file, named after the release, as 1.37.json")
	update = flag.Bool("update", false, "write the table of releases into docs/semantics.md, from the files beside that of -record")
)

// An answer is what does not depend on the cluster in the apiserver's answer to a row, and the source of
// Sluice's answer.
type answer struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header"`
	Body   string            `json:"body"`
	Source string            `json:"source"`
}

// TestReleasesAnswerRows writes answers of one release, and compares those of several (make releases).
func TestReleasesAnswerRows(t *testing.T) {
	if *record == "" {
		return
	}
	rows, err := Load("testdata/rows")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	answers := map[string]answer{}
	t.Run("rows", func(t *testing.T) {
		for _, row := range rows {
			if row.Confirmed != "" || row.Method != "" || row.After != "" {
				continue
			}
			t.Run(row.Name, func(t *testing.T) {
				t.Parallel()
				a, err := row.replace(variables).answer(t)
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				answers[row.Name] = a
			})
		}
	})
	raw, err := json.MarshalIndent(answers, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*record, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if *update {
		writeReleases(t, filepath.Dir(*record))
	}
}

func (r Row) answer(t *testing.T) (answer, error) {
	want, err := r.upstream().send(t.Context(), apiserver)
	if err != nil {
		return answer{}, err
	}
	got, err := r.send(t.Context(), sluice)
	if err != nil {
		return answer{}, err
	}
	source, _, _ := strings.Cut(got.Header.Get("Sluice-Source"), ";")
	c := reduce(want)
	delete(c.Header, "Content-Length")
	return answer{c.Status, c.Header, withoutCluster(string(normalize(want.Body, want.Header, false))), source}, nil
}

// ofCluster are parts of a body that are different in each cluster.
var ofCluster = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`(["']?continue["']?:\s*)["']?[\w{}":,/-]+`), "${1}TOKEN"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
	{regexp.MustCompile(`\d+`), "N"},
}

// withoutCluster returns the text of a body without these parts; binary bodies are left out, because each of
// their rows has a sibling in JSON.
func withoutCluster(body string) string {
	if !utf8.ValidString(body) || strings.ContainsRune(body, 0) {
		return "binary"
	}
	for _, r := range ofCluster {
		body = r.pattern.ReplaceAllString(body, r.with)
	}
	return body
}

// The table stands between these lines of docs/semantics.md.
const (
	releasesBegin = "<!-- releases: make releases -->\n"
	releasesEnd   = "<!-- end of releases -->\n"
)

// writeReleases writes a line for each group of rows that a release answers otherwise than the newest does.
func writeReleases(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d releases: %v", len(files), err)
	}
	slices.Sort(files)
	var names []string
	var releases []map[string]answer
	for _, file := range files {
		var answers map[string]answer
		if err := read(file, &answers); err != nil {
			t.Fatal(err)
		}
		names, releases = append(names, strings.TrimSuffix(filepath.Base(file), ".json")), append(releases, answers)
	}
	last := len(releases) - 1
	var table strings.Builder
	fmt.Fprintf(&table, "| rows | %s |\n|---|%s\n", strings.Join(names[:last], " | "), strings.Repeat("---|", last))
	groups := map[string][]string{}
	for name := range releases[last] {
		group, _, _ := strings.Cut(name, ", ")
		groups[group] = append(groups[group], name)
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		cells, differs := make([]string, last), false
		for i, release := range releases[:last] {
			if cells[i] = compared(groups[group], release, releases[last]); cells[i] != "" {
				differs = true
			}
		}
		if differs {
			fmt.Fprintf(&table, "| %s | %s |\n", group, strings.Join(cells, " | "))
		}
	}
	replaceInDocs(t, "docs/semantics.md", table.String())
}

// compared says how many of a group's rows a release answers otherwise, or Sluice from another source.
func compared(rows []string, was, is map[string]answer) string {
	answers, sources := 0, 0
	for _, name := range rows {
		a, b := was[name], is[name]
		if a.Status != b.Status || !maps.Equal(a.Header, b.Header) || a.Body != b.Body {
			answers++
		}
		if a.Source != b.Source {
			sources++
		}
	}
	var parts []string
	if answers > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d differ", answers, len(rows)))
	}
	if sources > 0 {
		parts = append(parts, fmt.Sprintf("%d of another source", sources))
	}
	return strings.Join(parts, ", ")
}

// replaceInDocs replaces the text between the lines of a page.
func replaceInDocs(t *testing.T, page, text string) {
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	page = filepath.Join(root, page)
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(raw), releasesBegin)
	_, after, ends := strings.Cut(rest, releasesEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", page)
	}
	if err := os.WriteFile(page, []byte(before+releasesBegin+text+releasesEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
