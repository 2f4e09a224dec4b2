package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

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

// scaleReads returns the reads that the options select.
func scaleReads(o *options) []scaleRead {
	json, proto, tables := http.Header{"Accept": {jsonType}}, http.Header{"Accept": {protobufType}}, http.Header{"Accept": {jsonType + tableOf}}
	zipped := http.Header{"Accept": {jsonType}, "Accept-Encoding": {"gzip"}}
	app := "labelSelector=" + url.QueryEscape("app.kubernetes.io/name=checkout-07")
	field := func(term string) string { return "fieldSelector=" + url.QueryEscape(term) }
	pods, cached := "/api/v1/pods?", "/api/v1/pods?resourceVersion=0&"
	maps, few, many := "/api/v1/configmaps?", o.lists, 10*o.lists
	all := []scaleRead{
		{name: "pods: all, JSON gzip", path: cached, header: zipped, requests: 2},
		{name: "pods: all, Protobuf", path: cached, header: proto, requests: 2},
		{name: "pods: second page of 500, Table", path: pods + "limit=500", next: true, header: tables, requests: 20},
		{name: "pods: namespace, JSON", path: "/api/v1/namespaces/" + scaledNamespace(0) + "/pods?resourceVersion=0", header: json, requests: 100},
		{name: "pods: namespace, Table", path: "/api/v1/namespaces/" + scaledNamespace(0) + "/pods?resourceVersion=0", header: tables, requests: 100},
		{name: "pods: metadata.namespace, JSON", path: cached + field("metadata.namespace="+scaledNamespace(0)), header: json, requests: 100},
		{name: "pods: app, JSON", path: cached + app, header: json, requests: 100},
		{name: "pods: app, Table", path: cached + app, header: tables, requests: 100},
		{name: "pods: node, JSON", path: cached + field("spec.nodeName=node-007"), header: json, requests: 100},
		{name: "pods: pending, JSON", path: cached + field("status.phase=Pending"), header: json, requests: 100},
		{name: "pods: no label matches", path: cached + absent, header: json, requests: 200},
		{name: "pods: no phase matches", path: cached + field("status.phase=Failed"), header: json, requests: 200},
		{name: "pods: namespace, consistent", path: "/api/v1/namespaces/" + scaledNamespace(0) + "/pods", header: json, requests: few, after: true},
		{name: "pods: no label matches, consistent", path: pods + absent, header: json, requests: few, after: true},
		{name: "configmaps: all, Protobuf", path: maps + "resourceVersion=0", header: proto, requests: 2},
		{name: "configmaps: no label matches", path: maps + "resourceVersion=0&" + absent, header: json, requests: 200},
		{name: "configmaps: no label matches, consistent, nothing written", path: maps + absent, header: json, requests: many},
		{name: "configmaps: no label matches, consistent", path: maps + absent, header: json, requests: many, after: true},
	}
	return slices.DeleteFunc(all, func(c scaleRead) bool { return !o.only.matches(c.name) })
}

// read measures a read at both targets.
func (e *scaleEnv) read(ctx context.Context, c scaleRead) (*scaleReadLine, error) {
	progress("%s", c.name)
	line := &scaleReadLine{Case: c.name, By: map[string]*scaleReadFigures{}}
	for _, t := range e.targets() {
		f, err := e.readAt(ctx, c, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		line.By[t.name] = f
	}
	return line, nil
}

// readAt measures a read at one target: at least once, and until the window ends or there are enough. At
// Sluice the reads before are those that fill memos.
func (e *scaleEnv) readAt(ctx context.Context, c scaleRead, t *target) (*scaleReadFigures, error) {
	f := &scaleReadFigures{sources: tally{}}
	path := c.path
	if c.next {
		var err error
		if path, err = e.secondPage(ctx, c, t); err != nil {
			return nil, err
		}
	}
	if t == e.sluiceTarget {
		first, err := newMeter(e.background, e.targets()...)
		if err != nil {
			return nil, err
		}
		for range warmReads {
			if _, _, err := e.readOnce(ctx, c, t, path); err != nil {
				return nil, err
			}
		}
		used, err := first.read()
		if err != nil {
			return nil, err
		}
		f.First = used.cpu[sluiceName].Seconds() / warmReads
	}
	var walls []time.Duration
	var cpu time.Duration
	for end := time.Now().Add(scaleWindow); len(walls) == 0 || len(walls) < c.requests && time.Now().Before(end); {
		if c.after {
			if err := e.patchOther(ctx); err != nil {
				return nil, err
			}
		}
		// Batches are longer than the tick of the kernel's clock of CPU.
		m, err := newMeter(e.background, e.targets()...)
		if err != nil {
			return nil, err
		}
		for n := 0; n == 0 || !c.after && n < readBatch && len(walls) < c.requests && time.Now().Before(end); n++ {
			begin := time.Now()
			size, source, err := e.readOnce(ctx, c, t, path)
			if err != nil {
				return nil, err
			}
			walls = append(walls, time.Since(begin))
			f.Bytes = size
			f.sources[source]++
		}
		used, err := m.read()
		if err != nil {
			return nil, err
		}
		cpu += used.cpu[t.name]
		if t == e.sluiceTarget && (c.after || f.sources.passed()) {
			cpu += used.cpu[apiserverName]
		}
	}
	f.Requests, f.CPU = len(walls), cpu.Seconds()/float64(len(walls))
	f.P50, f.P90, f.P99 = percentile(walls, 50).Seconds(), percentile(walls, 90).Seconds(), percentile(walls, 99).Seconds()
	if t == e.sluiceTarget {
		f.Source = f.sources.reasons()
	}
	return f, nil
}

const (
	// warmReads is how many reads it takes until all memos are made.
	warmReads = 3
	// readBatch is how many reads are measured together.
	readBatch = 20
	// scaleWindow is the longest time of a case at a target, except that of its first read.
	scaleWindow = 8 * time.Second
)

// readOnce sends a read and returns the length of its body and the source of the response.
func (e *scaleEnv) readOnce(ctx context.Context, c scaleRead, t *target, path string) (int64, string, error) {
	raw, err := t.connection(0)
	if err != nil {
		return 0, "", err
	}
	resp, err := raw.Open(ctx, harness.Request{Path: path, Header: c.header})
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, "", fmt.Errorf("%s", resp.Status)
	}
	body := &countingReader{in: resp.Body, to: io.Discard}
	err = drain(body)
	return body.n, sourceOf(resp.Header), err
}

// sourceOf returns the source of a response of Sluice as a tally has it.
func sourceOf(h http.Header) string {
	source := strings.ReplaceAll(h.Get("Sluice-Source"), "; ", ": ")
	if rest, passed := strings.CutPrefix(source, "upstream"); passed {
		return "passed" + rest
	}
	return source
}

// secondPage returns the path of the second page of a list.
func (e *scaleEnv) secondPage(ctx context.Context, c scaleRead, t *target) (string, error) {
	raw, err := t.connection(0)
	if err != nil {
		return "", err
	}
	got, err := raw.Do(ctx, harness.Request{Path: c.path, Header: c.header})
	if err != nil {
		return "", err
	}
	var list struct {
		Metadata struct {
			Continue string `json:"continue"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(got.Body, &list); err != nil {
		return "", err
	}
	return c.path + "&continue=" + url.QueryEscape(list.Metadata.Continue), nil
}
