package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"sluice/proxy/clients"
	"sluice/proxy/fault"
	"sluice/proxy/see"
	"sluice/proxy/why"
)

// startAdmin serves the page of a Sluice that has clients: one that reads much, and one whose watch is behind.
func startAdmin(t *testing.T) (url string) {
	t.Helper()
	table := clients.NewTable()
	big := clients.Use{
		Key: clients.Key{User: "jane", Agent: "\x1b[2Jagent/v1.0", Version: "v1", Resource: "pods", Namespace: "*"}, Verb: clients.List,
		Outcome: clients.Served, Ended: true, Encoded: 50e6, Sent: 50e6, Format: clients.InJSON,
	}
	table.Add(&big)
	slow := clients.Key{User: "joe", Agent: "kubelet/v1.37", Version: "v1", Resource: "secrets", Namespace: "*"}
	table.Open(clients.WatchFacts{Key: slow, Cached: true}).Follow(func() clients.Lag { return clients.Lag{Events: 7, Oldest: 2 * time.Second} })
	table.Open(clients.WatchFacts{Key: slow, Reason: "excluded"})
	ring := new(why.Ring)
	ring.Add(clients.Failed, &why.Request{Verb: "WATCH", User: "zoe", Known: true, Exists: true, Version: "v1", Resource: "nodes", End: "client-stalled"})
	s := see.NewSampler(see.Options{
		Version: "v1", Gather: func() ([]*dto.MetricFamily, error) { return nil, nil }, Stopping: func() bool { return false },
		Upstream: func() see.Upstream {
			return see.Upstream{Probed: true, Error: "refused", Fault: fault.Of(errors.New("refused"), true)}
		}, Clients: table, Names: true, Kept: ring,
	})
	return answering(t, s.Handler().ServeHTTP)
}

// execute runs a command and returns what it prints and its exit code.
func execute(t *testing.T, args ...string) (string, int) {
	t.Helper()
	out, err := output(t, args...)
	return out, exitCode(err)
}

func TestListsOfClientsExitAsTheyShould(t *testing.T) {
	url := startAdmin(t)
	for name, tt := range map[string]struct {
		args   []string
		code   int
		has    []string
		hasNot []string
	}{
		"clients":          {[]string{"clients"}, 0, []string{"jane", "?[2Jagent/v1.0", "joe", "WOULD COST", "excluded: set cache.secrets"}, []string{"\x1b"}},
		"of one user":      {[]string{"clients", "--user", "joe"}, 0, []string{"joe"}, []string{"jane"}},
		"in detail":        {[]string{"clients", "-o", "wide"}, 0, []string{"WHY REFUSED"}, nil},
		"an unknown flag":  {[]string{"clients", "--nothing"}, 2, nil, nil},
		"watches":          {[]string{"watches"}, 0, []string{"joe", "2.0 s", "the cache", "the apiserver", "ENDED LAST", "zoe", "client-stalled"}, nil},
		"of one resource":  {[]string{"watches", "--resource", "secrets"}, 0, []string{"joe"}, []string{"zoe"}},
		"those behind":     {[]string{"watches", "--behind", "1s"}, 1, []string{"2.0 s"}, []string{"the apiserver", "zoe"}},
		"those far behind": {[]string{"watches", "--behind", "3s"}, 0, []string{"USER"}, []string{"joe"}},
		"those that pass":  {[]string{"watches", "--passed", "-o", "wide"}, 0, []string{"the apiserver", "ADDRESS", "excluded: set cache.secrets"}, []string{"2.0 s"}},
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
		body, err := (&adminClient{address: url, timeout: time.Minute}).ask(t.Context(), "/see/v1alpha1/"+path)
		if err != nil && path != "why" { // this Sluice keeps no requests
			t.Fatal(err)
		}
		answers["GET /see/v1alpha1/"+path] = string(body)
	}
	answers["GET /see/v1alpha1/why"] = `{"apiVersion": "sluice/v1alpha1", "kind": "RequestList", "items": [{"id": "1", "user": "yes: <no>"}]}`
	address := answering(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(answers[r.Method+" "+r.URL.Path])) })
	for command, kind := range map[string]string{
		"status": "Status", "clients": "ClientList", "watches": "OpenWatchList", "why --last 1": "RequestList",
	} {
		var got [2]map[string]any
		for i, format := range []string{"json", "yaml"} {
			out, _ := execute(t, append(strings.Fields(command), "--address", address, "-o", format)...)
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
		p, out := printer{format: choice{value: format}}, &bytes.Buffer{}
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
		if f == nil || c.Name() == "bundle" || c.Name() == "kubeconfig" { // a path
			continue
		}
		commands++
		want := []string{"text", "wide", "json", "yaml"}
		if c.Name() == "verify" || c.Name() == "why" {
			want = slices.DeleteFunc(want, func(format string) bool { return format == "wide" }) // they print no wide table
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
	if commands < 5 {
		t.Errorf("only %d commands print values", commands)
	}
}

// TestTablesFitNarrowScreens: users and other texts lose their middle, and columns leave in an order; who costs how much stays.
func TestTablesFitNarrowScreens(t *testing.T) {
	user := "system:serviceaccount:kube-system:generic-garbage-collector"
	row := clients.Row{User: user, Agent: "kube-controller-manager/v1.37.2", Resource: "customresourcedefinitions.v1.apiextensions.k8s.io",
		Namespace: "a-long-name-of-a-namespace", PassedBecause: "version-before-history"}
	row.Recent.WouldCost, row.Recent.Cost, row.Recent.Lists, row.Recent.Sent = 12.345, 0.5, 1234.5, 123e9
	row.Requests = map[string]map[string]uint64{"list": {"refused": 346}}
	watch := clients.Watching{User: user, Agent: row.Agent, Resource: row.Resource, Selects: "spec.nodeName=a-long-name-of-a-node", AgeSeconds: 4000,
		FromVersion: "123456789012", BehindEvents: new(12345), WaitingSeconds: new(1234.5), Source: "upstream", PassedBecause: row.PassedBecause}
	status := see.Status{Facts: &see.Facts{Resources: []see.Resource{{Name: row.Resource, Objects: 1e6, Bytes: 1e11, Version: 123456789012,
		HeardSeconds: new(1234.5), ProvenSeconds: new(1234.5), Watches: 12345}}}}
	request := why.Seen{Verb: "LIST", Resource: row.Resource, User: user, Agent: row.Agent, Source: "upstream", Reason: row.PassedBecause, Code: 403}
	for name, tt := range map[string]struct {
		table *see.Table
		has   []string
	}{
		"clients":  {see.ClientTable(&clients.ClientList{Items: []clients.Row{row}}, ""), []string{"system:", "RESOURCE", "WOULD COST", "12.3", "COST", "346"}},
		"watches":  {see.WatchTable(&clients.OpenWatchList{Items: []clients.Watching{watch}}, false), []string{"system:", "BEHIND", "12345", "version-b"}},
		"status":   {status.Table(), []string{"custom", "filling for", "SERVED", "12 345"}},
		"requests": {see.RequestTable([]why.Seen{request}), []string{"LIST cus", "system:", "403", "version-b"}},
	} {
		for _, width := range []int{80, 200, 60} {
			table, _, _ := strings.Cut(string(tableText(tt.table, false, width)), "\n\n")
			for line := range strings.Lines(table) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s: %d characters of %d: %s", name, n, width, line)
				}
			}
			for _, want := range tt.has {
				if width == 80 && !strings.Contains(table, want) {
					t.Errorf("%s: no %q in\n%s", name, want, table)
				}
			}
		}
		if whole := string(tableText(tt.table, false, 0)); !strings.Contains(whole, row.Resource) || strings.Contains(whole, " -  ") {
			t.Errorf("%s: without a screen something is shortened, or nothing has another sign:\n%s", name, whole)
		}
	}
}

// The user with the highest cost comes first.
func TestUsersWithSeveralRowsHaveASum(t *testing.T) {
	of := func(user, resource string, cost float64) clients.Row {
		return clients.Row{User: user, Agent: "agent", Resource: resource, Recent: clients.Recent{Cost: cost}, Watches: 2}
	}
	l := &clients.ClientList{Items: []clients.Row{of("one", "pods.v1", 5), of("two", "pods.v1", 4), of("two", "nodes.v1", 3)}}
	got := ""
	for _, row := range see.ClientTable(l, "").Rows {
		got += row[0].Text + " " + row[2].Text + " " + row[5].Text + " " + row[9].Text + "\n"
	}
	if want := "two all 4 7.0\ntwo pods.v1 2 4.0\ntwo nodes.v1 2 3.0\none pods.v1 2 5.0\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := len(see.ClientTable(l, "cost").Rows); n != 3 {
		t.Errorf("%d rows in another order", n)
	}
}

// TestWhyMakesTheRequestAndTellsWhatTheAnswerSays, and nothing that controls the terminal.
func TestWhyMakesTheRequestAndTellsWhatTheAnswerSays(t *testing.T) {
	const bad = "\x1b[2J\u202eagent\u009b\n"
	var got *http.Request
	var source, body string
	code := http.StatusOK
	address := answering(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		if source != "" {
			w.Header().Set("Sluice-Source", source)
			w.Header().Set("Sluice-As-Of", map[bool]string{true: "237118; age=0.412; proof=any-version"}[strings.HasPrefix(source, "cache")])
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	})
	kubeconfig := kubeconfigFor(t, address+"/prefix", "")
	refused, err := json.Marshal(metav1.Status{Message: bad})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		source, body string
		code, exit   int
		says         string
	}{
		{"cache; any-version", "", 200, 0, "SERVED any-version: the request accepts any version, and the cache had one; the answer is 200 OK; its state was known to be the newest 0.412 s ago"},
		{"cache; up-to-date; transcoded", "", 200, 0, "SERVED up-to-date: "},
		{"upstream; excluded", "", 200, 1, "PASSED excluded: the configuration keeps this resource out of the cache; the answer is 200 OK\nDo: "},
		{"gateway; too-much-memory", string(refused), 429, 1, "REFUSED too-much-memory: the answer is 429 Too Many Requests: ?[2J?agent"},
		{"", string(refused), 403, 1, "REFUSED the answer is 403 Forbidden: ?[2J?agent"},
		{"", `{"message": "Sluice: no"}`, 400, 1, "REFUSED the answer is 400 Bad Request: Sluice: no\n"},
		{"", "", 404, 2, "UNKNOWN the answer is 404 Not Found\nDo: look whether the path is right"},
		{"", "", 200, 2, "leads to Sluice"},
	} {
		source, body, code = tt.source, tt.body, tt.code
		out, exit := execute(t, "why", "https://elsewhere:1/api/v1/pods?watch=1", "-H", "Accept: text/x", "--kubeconfig", kubeconfig)
		if exit != tt.exit || !strings.Contains(out, tt.says) || strings.ContainsAny(out, "\x1b\u202e\u009b") {
			t.Errorf("%+v: exit %d\n%q", tt, exit, out)
		}
		if got.Method != http.MethodGet || got.RequestURI != "/prefix/api/v1/pods?watch=1" || got.Header.Get("Accept") != "text/x" || got.Header.Get("Sluice-Source") != "?1" {
			t.Errorf("asks %s %s %v", got.Method, got.RequestURI, got.Header)
		}
	}
	for _, args := range [][]string{{}, {"api"}, {"/api", "--last=1"}, {"/api", "-H", "x"}, {"/api", "-X", "POST"}, {"/api", "--as-user=x"}, {"-f", "-"}} {
		if out, exit := execute(t, append([]string{"why", "--kubeconfig", kubeconfig}, args...)...); exit != exitUnknown || out != "" {
			t.Errorf("why %q: exit %d\n%s", args, exit, out)
		}
	}
}

// Clients choose some texts, and any pod with the label of Sluice all of them.
func TestAnswersPrintNothingThatControlsTheTerminal(t *testing.T) {
	const bad = "\x1b[2J\u202eagent\u009b"
	for want, row := range map[string]struct {
		args   []string
		answer any
	}{
		"last": {[]string{"why", "--last=1"}, see.WhyList{
			Kind: "RequestList", Items: []why.Seen{{Verb: bad, Resource: bad, User: bad, Agent: bad}}}},
		"status": {[]string{"status"}, see.Status{
			APIVersion: "sluice/v1alpha1", Kind: "Status", Verdict: see.Verdict{State: "away", Sentence: bad, Do: bad, Runbook: bad}, Facts: &see.Facts{}}},
		"another server": {[]string{"status"}, bad},
	} {
		address := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			if text, plain := row.answer.(string); plain {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, text)
				return
			}
			_ = json.NewEncoder(w).Encode(row.answer)
		})
		out, err := output(t, append(row.args, "--address="+address)...)
		if got := fmt.Sprint(err, out); !strings.Contains(got, "?[2J?agent?") || strings.ContainsAny(got, "\x1b\u202e\u009b") {
			t.Errorf("%s: %q", want, got)
		}
	}
}
