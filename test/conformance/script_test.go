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

// Script is a run of writes at the apiserver that is seen through watches of
// both servers. {ns} is a namespace of its own, {start} the version between the
// writes before the watches and those that they see.
type Script struct {
	Before  []Write `json:"before"`
	Writes  []Write `json:"writes"`
	Watches []Watch `json:"watches"`
}

// Watch is one watch of a script, or with For several. Its path lacks what all
// have: watch, version and timeout.
type Watch struct {
	Row
	// State has the watch begin with the state at {start}.
	State bool `json:"state"`
	// Events are the types of all events that are to come, in order.
	Events string `json:"events"`
}

// testEvents opens each watch before the writes, and again after them
// from the version before, so that it sees the same events once as they come
// and once out of the history.
func testEvents(t *testing.T) {
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
		t.Run(ns, func(t *testing.T) { s.play(t, ns) })
	}
}

func (s Script) play(t *testing.T, ns string) {
	namespace := Write{Path: "/api/v1/namespaces", Object: fmt.Appendf(nil, `{"metadata":{"name":%q}}`, ns)}
	perform(t, append([]Write{namespace}, s.Before...), ns)
	var all list
	if err := fetch(t.Context(), plane, "/api/v1/configmaps?limit=1", &all); err != nil {
		t.Fatal(err)
	}
	own := strings.NewReplacer("{ns}", ns, "{start}", all.Metadata.ResourceVersion)
	var live []*view
	for _, w := range s.Watches {
		for _, row := range w.rows(own) {
			v := openView(t, w, row)
			v.live = true
			live = append(live, v)
		}
	}
	perform(t, s.Writes, ns)
	for _, v := range live {
		t.Run(v.row.Name, v.check)
	}
	for _, w := range s.Watches {
		if w.State {
			continue
		}
		for _, row := range w.rows(own) {
			t.Run(row.Name+" afterwards", openView(t, w, row).check)
		}
	}
}

func perform(t *testing.T, writes []Write, ns string) {
	t.Helper()
	for _, w := range writes {
		w.Path = strings.ReplaceAll(w.Path, "{ns}", ns)
		w.Object = json.RawMessage(strings.ReplaceAll(string(w.Object), "{ns}", ns))
		if err := w.send(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func (w Watch) rows(own *strings.Replacer) []Row {
	rows := w.expand()
	for i, row := range rows {
		separator := "?"
		if strings.Contains(row.Path, "?") {
			separator = "&"
		}
		row.Path += separator + "resourceVersion={start}&timeoutSeconds=60"
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

// view is one watch, open at both servers.
type view struct {
	row       Row
	events    []string
	responses [2]*http.Response
	live      bool
}

func openView(t *testing.T, w Watch, row Row) *view {
	t.Helper()
	v := &view{row: row, events: strings.Fields(w.Events)}
	for i, s := range []server{plane, sluice} {
		resp, err := s.Raw("admin").Open(t.Context(), row.request())
		if err != nil {
			t.Fatalf("%s: %v", row.Name, err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %T answers %d", row.Name, s, resp.StatusCode)
		}
		v.responses[i] = resp
	}
	return v
}

// columns of Tables stand in the first event of a watch, says the apiserver;
// but it encodes an event once for several watches as it comes, and so sends
// the columns, or null, also to those for which it is not the first.
var columns = regexp.MustCompile(`"columnDefinitions":\[\{.*?"priority":\d+\}\]`)

// check reads the events that are to come and compares them.
func (v *view) check(t *testing.T) {
	if source := v.responses[1].Header.Get("Sluice-Source"); !strings.HasPrefix(source, v.row.Source) {
		t.Errorf("answered from %q, want %s", source, v.row.Source)
	}
	var bodies [2]string
	for i, resp := range v.responses {
		body, types, err := take(newStream(resp), len(v.events))
		if err != nil {
			t.Errorf("server %d: %v", i, err)
		}
		if diff := cmp.Diff(v.events, types); diff != "" {
			t.Errorf("server %d: events (-want +got):\n%s", i, diff)
		}
		body = steady(body, resp.Header, false)
		if v.live {
			body = columns.ReplaceAll(body, []byte(`"columnDefinitions":null`))
		}
		bodies[i] = string(body)
	}
	if diff := cmp.Diff(bodies[0], bodies[1]); diff != "" {
		t.Errorf("apiserver (-) and Sluice (+) differ:\n%s", diff)
	}
}

// take reads n events. Bookmarks that end no state do not count: none is owed.
func take(s *stream, n int) (all []byte, types []string, err error) {
	for len(types) < n {
		event, typ, err := s.next()
		if err != nil {
			return all, types, err
		}
		if typ == "BOOKMARK" && !bytes.Contains(event, endOfState) {
			continue
		}
		all, types = append(all, event...), append(types, typ)
	}
	return all, types, nil
}
