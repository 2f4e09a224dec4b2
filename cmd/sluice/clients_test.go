package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	dto "github.com/prometheus/client_model/go"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"sluice/proxy/clients"
	"sluice/proxy/see"
	"sluice/proxy/why"
)

// startAdmin serves the page of a Sluice that has clients: one that reads much, and one whose watch is behind.
func startAdmin(t *testing.T) (url string) {
	t.Helper()
	table := clients.NewTable()
	big := clients.Use{
		Key: clients.Key{User: "jane", Agent: "\x1b[2Jagent/v1.0", Version: "v1", Resource: "pods", Namespace: "*"}, Verb: clients.List,
		Outcome: clients.Served, Ended: true, Encoded: 50e6, Sent: 50e6, Format: clients.InJSON, Asked: clients.Asked{From: 1, Plain: true},
	}
	table.Add(&big)
	slow := clients.Key{User: "joe", Agent: "kubelet/v1.37", Version: "v1", Resource: "secrets", Namespace: "*"}
	table.Open(clients.WatchFacts{Key: slow, Cached: true}).Follow(func() clients.Lag { return clients.Lag{Events: 7, Oldest: 2 * time.Second} })
	table.Open(clients.WatchFacts{Key: slow, Reason: "excluded"})
	s := see.NewSampler(see.Options{
		Version: "v1", Gather: func() ([]*dto.MetricFamily, error) { return nil, nil }, Stopping: func() bool { return false },
		Upstream: func() see.Upstream { return see.Upstream{Probed: true, Error: "refused"} }, Clients: table, Names: true,
	})
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// execute runs a command and returns what it prints and its exit code.
func execute(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	c := rootCommand()
	c.SetOut(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	if exit, ok := errors.AsType[exitError](err); ok {
		return out.String(), exit.code
	}
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out.String(), 0
}

func TestListsOfClientsExitAsTheyShould(t *testing.T) {
	url := startAdmin(t)
	for name, tt := range map[string]struct {
		args   []string
		code   int
		has    []string
		hasNot []string
	}{
		"clients":           {[]string{"clients"}, 0, []string{"jane", "?[2Jagent/v1.0", "uncompressed", "joe", "excluded: take"}, []string{"\x1b", "took"}},
		"of one user":       {[]string{"clients", "--user", "joe"}, 0, []string{"joe"}, []string{"jane"}},
		"in detail":         {[]string{"clients", "-o", "wide"}, 0, []string{"took 50.0 MB", "REFUSED"}, nil},
		"hints":             {[]string{"clients", "--hints"}, 1, []string{"jane", "took 50.0 MB"}, []string{"joe"}},
		"hints of nobody":   {[]string{"clients", "--hints", "--user", "joe"}, 0, []string{"USER"}, []string{"joe"}},
		"an unknown flag":   {[]string{"clients", "--nothing"}, 2, nil, nil},
		"watches":           {[]string{"watches"}, 0, []string{"joe", "2s", "cache", "upstream"}, nil},
		"those behind":      {[]string{"watches", "--behind", "1s"}, 1, []string{"2s"}, []string{"upstream"}},
		"those far behind":  {[]string{"watches", "--behind", "3s"}, 0, []string{"USER"}, []string{"joe"}},
		"those that pass":   {[]string{"watches", "--passed", "-o", "wide"}, 0, []string{"upstream", "ADDRESS", "excluded: take"}, []string{"2s"}},
		"top":               {[]string{"top", "--once"}, 1, []string{"away", "RESOURCE"}, []string{"jane"}},
		"top clients":       {[]string{"top", "clients"}, 1, []string{"jane"}, nil}, // no terminal
		"top watches":       {[]string{"top", "watches", "--once"}, 1, []string{"joe"}, nil},
		"top of nothing":    {[]string{"top", "nothing"}, 2, nil, nil},
		"top without reply": {[]string{"top", "--address", "http://127.0.0.1:1"}, 2, nil, nil},
	} {
		args := append([]string{tt.args[0], "--address", url}, tt.args[1:]...)
		out, code := execute(t, args...)
		if code != tt.code {
			t.Errorf("%s: exit %d, want %d", name, code, tt.code)
		}
		for _, want := range tt.has {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
		for _, not := range tt.hasNot {
			if strings.Contains(out, not) {
				t.Errorf("%s: %q in\n%s", name, not, out)
			}
		}
	}
}

// TestJSONAndYAMLAreTheSameValue of one kind. The answer is one that does not change with time.
func TestJSONAndYAMLAreTheSameValue(t *testing.T) {
	answers := map[string]string{} // by their paths, from the real page
	url := startAdmin(t)
	for _, path := range []string{"status", "clients", "watches", "why"} {
		body, err := (&adminClient{address: url, timeout: time.Minute}).ask(t.Context(), http.MethodGet, "/see/v1alpha1/"+path, nil)
		if err != nil && path != "why" { // this Sluice keeps no requests
			t.Fatal(err)
		}
		answers["GET /see/v1alpha1/"+path] = string(body)
	}
	answers["GET /see/v1alpha1/why"] = `{"apiVersion": "sluice/v1alpha1", "kind": "RequestList", "items": [{"id": "1", "user": "yes: <no>"}]}`
	answers["POST /see/v1alpha1/why"] = `{"apiVersion": "sluice/v1alpha1", "kind": "Explanation", "verdict": "served", "rules": [{"n": 1}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(answers[r.Method+" "+r.URL.Path]))
	}))
	defer server.Close()
	for command, kind := range map[string]string{
		"status": "Status", "top": "Status", "top clients": "ClientList", "top watches": "OpenWatchList", "clients": "ClientList",
		"clients --hints": "ClientList", "watches": "OpenWatchList", "why --last 1": "RequestList", "why /version": "Explanation",
	} {
		var got [2]map[string]any
		for i, format := range []string{"json", "yaml"} {
			out, _ := execute(t, append(strings.Fields(command), "--address", server.URL, "-o", format)...)
			if json.Valid([]byte(out)) != (format == "json") {
				t.Errorf("%s -o %s prints\n%s", command, format, out)
			}
			if err := yaml.Unmarshal([]byte(out), &got[i]); err != nil { // JSON is YAML
				t.Errorf("%s -o %s: %v", command, format, err)
			}
		}
		if !reflect.DeepEqual(got[0], got[1]) || got[0]["kind"] != kind || got[0]["apiVersion"] != "sluice/v1alpha1" {
			t.Errorf("%s: %v is not %v of kind %s", command, got[1], got[0], kind)
		}
	}
}

// TestValuesAreDocumentsOneAfterTheOther, so that a reader of changes sees where each ends.
func TestValuesAreDocumentsOneAfterTheOther(t *testing.T) {
	for _, format := range []string{"json", "yaml"} {
		p, out := printer{format: format}, &bytes.Buffer{}
		for i := range 3 {
			if err := p.print(out, map[string]int{"n": i}, nil); err != nil {
				t.Fatal(err)
			}
		}
		documents := utilyaml.NewYAMLOrJSONDecoder(out, 4096)
		for i := range 3 {
			var got map[string]int
			if err := documents.Decode(&got); err != nil || got["n"] != i {
				t.Errorf("%s: document %d is %v, %v", format, i, got, err)
			}
		}
	}
}

// TestEveryFormatIsCompletedAndTaken by each command that prints a value, and no other one.
func TestEveryFormatIsCompletedAndTaken(t *testing.T) {
	commands := 0
	for _, c := range rootCommand().Commands() {
		f := c.Flags().Lookup("output")
		if f == nil || c.Name() == "bundle" { // a path
			continue
		}
		commands++
		want := []string{"text", "wide", "json", "yaml"}
		if c.Name() == "verify" {
			want = slices.DeleteFunc(want, func(format string) bool { return format == "wide" }) // it prints no table
		}
		out, _ := execute(t, "__complete", c.Name(), "-o", "")
		for _, format := range append(want, "xml") {
			taken := f.Value.Set(format) == nil && f.Value.String() == format
			if taken != (format != "xml") || strings.Contains(out, format+"\n") != taken || strings.Contains(f.Usage, format) != taken {
				t.Errorf("%s -o %s: taken %v, completed among\n%s", c.Name(), format, taken, out)
			}
		}
		if _, code := execute(t, c.Name(), "-o", "xml"); code != exitUnknown {
			t.Errorf("%s -o xml: exit %d", c.Name(), code)
		}
	}
	if commands < 6 {
		t.Errorf("only %d commands print values", commands)
	}
}

// TestTopFitsTheScreen drives the live screen by its messages.
func TestTopFitsTheScreen(t *testing.T) {
	f := topFlags{by: topOrders[0]}
	f.address, f.timeout = startAdmin(t), 10*time.Second
	screen := &top{topFlags: &f, ctx: t.Context(), view: "resources"}
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 200, Height: 50}, {Width: 20, Height: 2}, {}} {
		screen.Update(size)
		for key, want := range map[rune]string{'c': "jane", 'w': "joe", 'r': "OBJECTS"} {
			screen.Update(tea.KeyPressMsg{Code: key, Text: string(key)})
			screen.Update(screen.fetch()())
			frame := screen.View().Content
			lines := strings.Split(frame, "\n")
			if len(lines) > max(size.Height, 1) {
				t.Errorf("%d lines of %d", len(lines), size.Height)
			}
			for _, line := range lines {
				if n := len([]rune(line)); n > size.Width {
					t.Errorf("%d characters of %d: %s", n, size.Width, line)
				}
			}
			if size.Width >= 80 && !(strings.Contains(frame, want) && strings.Contains(lines[0], "away")) {
				t.Errorf("%q is not in\n%s", want, frame)
			}
		}
	}
}

func TestTopSortsFailsAndEnds(t *testing.T) {
	f := topFlags{by: topOrders[len(topOrders)-1]}
	f.address, f.timeout = startAdmin(t), 10*time.Second
	screen := &top{topFlags: &f, ctx: t.Context(), view: "clients", width: 80, height: 24}
	screen.Update(screen.fetch()())
	if screen.Update(tea.KeyPressMsg{Code: 's', Text: "s"}); !strings.Contains(screen.frame(), "[s]orted by "+topOrders[0]) {
		t.Errorf("another order:\n%s", screen.frame())
	}
	f.address = "http://127.0.0.1:1"
	screen.Update(screen.fetch()())
	if frame := screen.frame(); !strings.Contains(frame, "No news: ") || !strings.Contains(frame, "jane") {
		t.Errorf("without an answer:\n%s", frame)
	}
	if _, cmd := screen.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); cmd == nil {
		t.Error("q does not end it")
	} else if _, ok := cmd().(tea.QuitMsg); !ok {
		t.Error("q does something else")
	}
}

// A Sluice without these lists, such as an older one, is not taken for one without clients.
func TestOtherAnswersAreNoLists(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"kind": "Status"}`)) }))
	defer server.Close()
	for _, arguments := range [][]string{{"clients"}, {"watches"}, {"top"}, {"status"}, {"why", "--last=1"}, {"why", "/api"}} {
		if _, code := execute(t, append(arguments, "--address", server.URL)...); code != exitUnknown {
			t.Errorf("%s: exit %d", arguments, code)
		}
	}
}

// TestWhyPrintsNothingThatControlsTheTerminal of what a client has chosen.
func TestWhyPrintsNothingThatControlsTheTerminal(t *testing.T) {
	const bad = "\x1b[2J\u202eagent\u009b\n"
	mux := http.NewServeMux()
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	mux.HandleFunc("GET /see/v1alpha1/why", answer(see.WhyList{Kind: "RequestList", Items: []why.Seen{{Verb: bad, Resource: bad, User: bad, Agent: bad}}}))
	mux.HandleFunc("POST /see/v1alpha1/why", answer(see.WhyExplanation{Kind: "Explanation", Explanation: &why.Explanation{
		Verdict: why.Served, Sentence: bad, Rules: []why.Row{{Answer: why.No, Facts: bad}},
	}}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, arguments := range [][]string{{"--last=1"}, {"/api"}} {
		out, _ := execute(t, append([]string{"why", "--address=" + server.URL}, arguments...)...)
		if !strings.Contains(out, "?[2J?agent??") || strings.ContainsAny(out, "\x1b\u202e\u009b") {
			t.Errorf("why %v: %q", arguments, out)
		}
	}
}
