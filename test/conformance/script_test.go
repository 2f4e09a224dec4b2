package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Script is a sequence of writes at the apiserver that watches of both servers observe. {ns} is the
// namespace of the script, {start} the resource version between Before and Writes.
type Script struct {
	Before  []Write `json:"before"`
	Writes  []Write `json:"writes"`
	Watches []Watch `json:"watches"`
}

// Watch is one watch of a script, or with For several. Its path lacks the parameters that all have:
// watch, resourceVersion and timeoutSeconds.
type Watch struct {
	Row
	// State has the watch send initial events for the state at {start}.
	State bool `json:"state"`
	// Events are the types of all expected events, in order.
	Events string `json:"events"`
}

// testScripts opens each watch before the writes, and again after them from {start}, so that it
// gets the same events live and from the history.
func testScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scripts/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var s Script
		if err := read(file, &s); err != nil {
			t.Fatal(err)
		}
		ns := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(ns, func(t *testing.T) { s.run(t, ns) })
	}
}

func (s Script) run(t *testing.T, ns string) {
	namespace := Write{Path: "/api/v1/namespaces", Object: fmt.Appendf(nil, `{"metadata":{"name":%q}}`, ns)}
	mustSend(t, apiserver, in(ns, append([]Write{namespace}, s.Before...))...)
	start := mustList(t, apiserver, "/api/v1/configmaps?limit=1").Metadata.ResourceVersion
	own := strings.NewReplacer("{ns}", ns, "{start}", start)
	var live []*openedWatch
	for _, w := range s.Watches {
		for _, row := range w.rows(own) {
			v := openWatch(t, w, row)
			v.live = true
			live = append(live, v)
		}
	}
	mustSend(t, apiserver, in(ns, s.Writes)...)
	for _, v := range live {
		t.Run(v.row.Name, v.check)
	}
	for _, w := range s.Watches {
		if w.State {
			continue
		}
		for _, row := range w.rows(own) {
			t.Run(row.Name+" from history", openWatch(t, w, row).check)
		}
	}
}

// in returns the writes in a namespace.
func in(ns string, writes []Write) (all []Write) {
	for _, w := range writes {
		object := json.RawMessage(strings.ReplaceAll(string(w.Object), "{ns}", ns))
		all = append(all, Write{w.Method, strings.ReplaceAll(w.Path, "{ns}", ns), object})
	}
	return all
}

func (w Watch) rows(own *strings.Replacer) []Row {
	rows := w.expand()
	for i, row := range rows {
		separator := "?"
		if strings.Contains(row.Path, "?") {
			separator = "&"
		}
		row.Path += separator + "resourceVersion={start}&timeoutSeconds=600"
		if !strings.Contains(row.Path, "/watch/") {
			row.Path += "&watch=1"
		}
		if w.State {
			row.Path += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
		}
		rows[i] = row.replace(own)
	}
	return rows
}

// openedWatch is one watch, open at both servers.
type openedWatch struct {
	row       Row
	events    []string
	responses [2]*http.Response
	live      bool
}

func openWatch(t *testing.T, w Watch, row Row) *openedWatch {
	t.Helper()
	v := &openedWatch{row: row, events: strings.Fields(w.Events)}
	for i, s := range []server{apiserver, sluice} {
		v.responses[i] = s.Raw("admin").MustOpen(t, row.request())
	}
	return v
}

// columnDefinitions of Tables are meant for the first event of a watch. But the apiserver encodes a
// live event once for several watches, and so sends the columns, or null, to all of them alike.
var columnDefinitions = regexp.MustCompile(`"columnDefinitions":\[\{.*?"priority":\d+\}\]`)

// check reads the expected events from both servers and compares them.
func (v *openedWatch) check(t *testing.T) {
	if source := v.responses[1].Header.Get("Sluice-Source"); !strings.HasPrefix(source, v.row.Source) {
		t.Errorf("source is %q, want %s", source, v.row.Source)
	}
	var bodies [2]string
	for i, resp := range v.responses {
		events, types, err := newStream(resp).events(len(v.events))
		if err != nil {
			t.Errorf("server %d: %v", i, err)
		}
		if diff := cmp.Diff(v.events, types); diff != "" {
			t.Errorf("server %d: events (-want +got):\n%s", i, diff)
		}
		body := normalize(bytes.Join(events, nil), resp.Header, false)
		if v.live {
			body = columnDefinitions.ReplaceAll(body, []byte(`"columnDefinitions":null`))
		}
		bodies[i] = string(body)
	}
	if diff := cmp.Diff(bodies[0], bodies[1]); diff != "" {
		t.Errorf("apiserver (-) and Sluice (+) differ:\n%s", diff)
	}
}
