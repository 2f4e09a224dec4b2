package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// scaleRead is a read of a large cluster that one client repeats.
type scaleRead struct {
	name string
	path string // of the first request
	// next makes the client read the second page of the list at path.
	next     bool
	header   http.Header
	requests int // at most
	// after changes an object of another resource before each read, as in a cluster; without it a
	// consistent read is one of KEP-2340.
	after bool
}

// absent is a selector that matches nothing.
const absent = "labelSelector=app%3Dabsent"

// readScenarios returns the reads that the options select.
func readScenarios(o *options) []*scenario {
	json, proto := http.Header{"Accept": {jsonType}}, http.Header{"Accept": {protobufType}}
	tables := http.Header{"Accept": {jsonType + tableOf}}
	space := "/api/v1/namespaces/" + scaledNamespace(0) + "/pods"
	zipped := http.Header{"Accept": {jsonType}, "Accept-Encoding": {"gzip"}}
	app := "labelSelector=" + url.QueryEscape("app.kubernetes.io/name=checkout-07")
	field := func(term string) string { return "fieldSelector=" + url.QueryEscape(term) }
	pods, cached := "/api/v1/pods?", "/api/v1/pods?resourceVersion=0&"
	named := field("metadata.namespace=" + scaledNamespace(0))
	maps, few, many := "/api/v1/configmaps?", o.lists, 10*o.lists
	all := []scaleRead{
		{name: "pods: all, JSON gzip", path: cached, header: zipped, requests: 2},
		{name: "pods: all, Protobuf", path: cached, header: proto, requests: 2},
		{name: "pods: second page of 500, Table", path: pods + "limit=500", next: true, header: tables, requests: 20},
		{name: "pods: namespace, JSON", path: space + "?resourceVersion=0", header: json, requests: 100},
		{name: "pods: namespace, Table", path: space + "?resourceVersion=0", header: tables, requests: 100},
		{name: "pods: metadata.namespace, JSON", path: cached + named, header: json, requests: 100},
		{name: "pods: app, JSON", path: cached + app, header: json, requests: 100},
		{name: "pods: app, Table", path: cached + app, header: tables, requests: 100},
		{name: "pods: node, JSON", path: cached + field("spec.nodeName=node-007"), header: json, requests: 100},
		{name: "pods: pending, JSON", path: cached + field("status.phase=Pending"), header: json, requests: 100},
		{name: "pods: no label matches", path: cached + absent, header: json, requests: 200},
		{name: "pods: no phase matches", path: cached + field("status.phase=Failed"), header: json, requests: 200},
		{name: "pods: namespace, consistent", path: space, header: json, requests: few, after: true},
		{name: "pods: no label matches, consistent", path: pods + absent, header: json, requests: few, after: true},
		{name: "configmaps: all, Protobuf", path: maps + "resourceVersion=0", header: proto, requests: 2},
		{name: "configmaps: no label matches", path: maps + "resourceVersion=0&" + absent, header: json, requests: 200},
		{name: "configmaps: no label matches, consistent, nothing written", path: maps + absent, header: json, requests: many},
		{name: "configmaps: no label matches, consistent", path: maps + absent, header: json, requests: many, after: true},
	}
	var scenarios []*scenario
	for _, c := range all {
		scenarios = append(scenarios, c.scenario())
	}
	return o.selected(scenarios)
}

// scenario makes a scenario of a read at both targets: at least once, and until the window ends or there are enough.
// At Sluice the reads before are those that fill memos.
func (c scaleRead) scenario() *scenario {
	sources, first := tally{}, 0.0
	path := map[string]string{} // by target
	rs := reads{window: scaleWindow, most: c.requests, query: func(_ *world, t *target, _ int) query {
		return query{path: path[t.name], header: c.header, heads: func(h http.Header) { sources[sourceOf(h)]++ }}
	}}
	if c.after {
		rs.before = (*world).updateOther
	}
	return &scenario{
		table: readTable, name: c.name, clients: 1, rounds: 1,
		world: func(_ context.Context, w *world, _ *row) []*target { return []*target{w.apiserver, w.cached} },
		op: func(ctx context.Context, w *world, s *scenario, t *target) *sample {
			path[t.name] = c.pathAt(ctx, t)
			if t == w.cached {
				warm := reads{query: rs.query, window: responseLimit, most: warmReads}
				first = warm.op(ctx, w, s, t).cpu[sluiceName].Seconds() / warmReads
			}
			clear(sources)
			return rs.op(ctx, w, s, t)
		},
		sum: func(w *world, r *row, all samples) {
			for target, rounds := range all {
				f, s := &figures{}, rounds[0]
				f.timed(s.walls)
				used := s.cpu[target]
				if target == sluiceName {
					f.First, f.Source = first, sources.reasons()
					if c.after || sources.passed() {
						used += s.plane
					}
				}
				f.CPU, f.Bytes = used.Seconds()/float64(len(s.walls)), float64(s.bytes)
				r.By[target] = f
			}
		},
	}
}

const (
	// warmReads is how many reads it takes until all memos are made.
	warmReads = 3
	// scaleWindow is the longest time of a case at a target, except that of its first read.
	scaleWindow = 8 * time.Second
)

// sourceOf returns the source of a response of Sluice as a tally has it.
func sourceOf(h http.Header) string {
	source := strings.ReplaceAll(h.Get("Sluice-Source"), "; ", ": ")
	if rest, passed := strings.CutPrefix(source, "upstream"); passed {
		return "passed" + rest
	}
	return source
}

// pathAt returns the path of the read at a target: perhaps of the second page of a list.
func (c scaleRead) pathAt(ctx context.Context, t *target) string {
	if !c.next {
		return c.path
	}
	got := must(t.connection(0).Do(ctx, harness.Request{Path: c.path, Header: c.header}))
	var list metav1.List
	check(json.Unmarshal(got.Body, &list))
	return c.path + "&continue=" + url.QueryEscape(list.Continue)
}

// concurrentLists is how many lists run at once in the section "lists", as in the load test of Kubernetes.
const concurrentLists = 10

// scaleOfLists measures concurrent lists of large ConfigMaps in every format that whole objects have, first at Sluice:
// the apiserver keeps a large heap, and would need tens of gigabytes for other formats.
func scaleOfLists(ctx context.Context, w *world, r *report) {
	var all []*scenario
	for _, row := range []struct {
		at      *target
		formats []string
	}{{w.cached, []string{"json", "protobuf", "cbor", "yaml"}}, {w.apiserver, []string{"json", "protobuf"}}} {
		for _, name := range row.formats {
			if w.only.matches(name) {
				all = append(all, atOnce(w.options, row.at, formatOf(name), w.pods.path))
			}
		}
	}
	w.runAll(ctx, r, all)
}

// atOnce lists at a target in rounds, each client once in each.
func atOnce(o *options, at *target, f format, path string) *scenario {
	rs := reads{most: 1, query: func(*world, *target, int) query {
		return query{path: path + "?resourceVersion=0", header: http.Header{"Accept": {f.accept}}}
	}}
	return &scenario{
		table: atOnceTable, name: fmt.Sprintf("%d at the %s", concurrentLists, at.name),
		clients: concurrentLists, rounds: o.rounds, op: rs.op,
		world: func(ctx context.Context, _ *world, _ *row) []*target {
			at.connect(ctx, concurrentLists)
			return []*target{at}
		},
		sum: func(_ *world, r *row, all samples) {
			var walls, cpus []float64
			got := &figures{}
			for _, s := range all[at.name] {
				walls, cpus = append(walls, s.wall.Seconds()), append(cpus, s.cpu[at.name].Seconds())
				got.Bytes, got.Peak = float64(s.bytes), max(got.Peak, s.peak[at.name])
			}
			got.Seconds, got.SecondsSpread = median(walls)
			got.CPU, got.CPUSpread = median(cpus)
			r.What, r.Target, r.By[at.name] = f.name, at.name, got
		},
	}
}
