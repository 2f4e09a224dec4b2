package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sluice/test/harness"
)

// lab is an extension API server with one resource that supports JSON only. It refuses other
// encodings, and ignores query parameters other than watch.
type lab struct {
	mu     sync.Mutex
	things []string      // guarded by mu
	more   chan struct{} // closed when a thing is added; guarded by mu
}

const (
	labGroup = "lab.example.com"
	labPath  = "/apis/" + labGroup + "/v1"
	labThing = `{"apiVersion":"` + labGroup + `/v1","kind":"Thing","metadata":{"name":%q,"resourceVersion":"%d","creationTimestamp":"2026-01-02T03:04:05Z"},"color":%q}`
)

func newLab() *lab { return &lab{more: make(chan struct{})} }

// ServeHTTP implements http.Handler.
func (l *lab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	acceptsJSON := r.Header.Get("Accept") == ""
	for clause := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		media, params, _ := mime.ParseMediaType(clause)
		acceptsJSON = acceptsJSON || (media == "application/json" || media == "*/*") && params["as"] == ""
	}
	w.Header().Set("Content-Type", "application/json")
	path := strings.TrimPrefix(r.URL.Path, labPath)
	switch contentType := r.Header.Get("Content-Type"); {
	case !acceptsJSON:
		l.fail(w, 406, "NotAcceptable")
	case r.ContentLength != 0 && contentType != "application/json":
		l.fail(w, 415, "UnsupportedMediaType")
	case path == "" || path == "/":
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"`+labGroup+
			`/v1","resources":[{"name":"things","singularName":"thing","namespaced":false,"kind":"Thing","verbs":["get","list","watch","create"]}]}`)
	case path == "/things" && r.Method == "POST":
		l.create(w, r)
	case path == "/things" && r.URL.Query().Get("watch") != "":
		l.watch(w, r)
	case path == "/things":
		l.mu.Lock()
		defer l.mu.Unlock()
		fmt.Fprintf(w, `{"apiVersion":"%s/v1","kind":"ThingList","metadata":{"resourceVersion":"%d"},"items":[%s]}`,
			labGroup, len(l.things), strings.Join(l.things, ","))
	default:
		l.get(w, strings.TrimPrefix(path, "/things/"))
	}
}

func (l *lab) fail(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"refused by lab","reason":%q,"code":%d}`, reason, code)
}

func (l *lab) create(w http.ResponseWriter, r *http.Request) {
	var sent struct {
		Metadata struct{ Name string }
		Color    string
	}
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		l.fail(w, 400, "BadRequest")
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	object := fmt.Sprintf(labThing, sent.Metadata.Name, len(l.things)+1, sent.Color)
	l.things = append(l.things, object)
	close(l.more)
	l.more = make(chan struct{})
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, object)
}

func (l *lab) get(w http.ResponseWriter, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, object := range l.things {
		if strings.Contains(object, `"name":"`+name+`"`) {
			_, _ = io.WriteString(w, object)
			return
		}
	}
	l.fail(w, 404, "NotFound")
}

func (l *lab) watch(w http.ResponseWriter, r *http.Request) {
	for sent := 0; ; {
		l.mu.Lock()
		events, more := l.things[sent:], l.more
		l.mu.Unlock()
		for _, object := range events {
			fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", object)
		}
		sent += len(events)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

// remove deletes an object at the end of the test.
func remove(t *testing.T, path string) {
	t.Cleanup(func() {
		if err := (Write{Method: "DELETE", Path: path}).send(context.WithoutCancel(t.Context()), apiserver); err != nil {
			t.Error(err)
		}
	})
}

// TestFormatsThatAnExtensionServerLacksAreTranscoded: without Sluice, the apiserver passes the
// refusals of the extension server.
func TestFormatsThatAnExtensionServerLacksAreTranscoded(t *testing.T) {
	apiserver.Aggregate(t, labGroup, newLab())
	send := func(s server, method, path, contentType, accept, body string) *harness.Response {
		t.Helper()
		h := http.Header{"Accept": {accept}}
		if contentType != "" {
			h.Set("Content-Type", contentType)
		}
		var a *harness.Response
		harness.Eventually(t, "the aggregator finds the lab", func() (err error) { // on a loaded machine it may not for a moment
			a, err = s.Raw("admin").Do(t.Context(), harness.Request{Method: method, Path: labPath + path, Header: h, Body: []byte(body)})
			if err == nil && a.Status == http.StatusServiceUnavailable {
				err = fmt.Errorf("%s", a.Body)
			}
			return err
		})
		return a
	}
	table, partial, partials := formats["table"], formats["metadata"], formats["metadata list"]
	thing := fmt.Sprintf(labThing, "a", 1, "blue")
	a := send(sluice, "POST", "/things", "application/json", "application/yaml", thing)
	if a.Status != 201 || !strings.Contains(string(a.Body), "\ncolor: blue\n") || a.Header.Get("Content-Type") != "application/yaml" {
		t.Fatalf("create: %d %v: %s", a.Status, a.Header, a.Body)
	}
	if a := send(sluice, "POST", "/things", "application/yaml", "*/*", thing); a.Status != 415 || !strings.Contains(string(a.Body), "refused by lab") {
		t.Errorf("create in YAML: %d: %s", a.Status, a.Body)
	}
	for _, accept := range []string{"application/yaml", mediaCBOR, table, partial, partials} {
		if a := send(apiserver, "GET", "/things", "", accept, ""); a.Status != 406 {
			t.Errorf("the lab supports %s: %d", accept, a.Status)
		}
	}
	for _, tt := range []struct {
		path, accept, shows string
		color               bool
	}{
		{"/things", table, "cells:[a ", false},
		{"/things", partials, "name:a", false},
		{"/things/a", partial, "kind:PartialObjectMetadata", false},
		{"/things", "application/yaml", "name:a", true},
		{"/things", formats["kubectl's"], "name:a", true}, // the lab's JSON, which this header accepts, too
	} {
		objects := objectsOf(t, send(sluice, "GET", tt.path, "", tt.accept, ""))
		if text := fmt.Sprint(objects); len(objects) != 1 || !strings.Contains(text, tt.shows) || strings.Contains(text, "color:blue") != tt.color {
			t.Errorf("%s as %s is %s", tt.path, tt.accept, text)
		}
	}
	if got := decodeCBOR(t, send(sluice, "GET", "/things/a", "", mediaCBOR, "").Body); got["color"] != "blue" {
		t.Errorf("CBOR is %v", got)
	}
	if a := send(sluice, "GET", "/things/b", "", mediaCBOR, ""); a.Status != 404 || decodeCBOR(t, a.Body)["message"] != "refused by lab" {
		t.Errorf("404 is %d %q", a.Status, a.Body)
	}
	watchLab(t, table, partial)
}

// watchLab watches in every target while a thing is created.
func watchLab(t *testing.T, table, partial string) {
	marks := map[string]string{mediaCBOR: "Dkind", table: `"kind":"Table"`, partial: `"kind":"PartialObjectMetadata"`}
	open := map[string]*stream{}
	for accept, mark := range marks {
		resp := sluice.Raw("admin").MustOpen(t, harness.Request{Path: labPath + "/things?watch=1", Header: http.Header{"Accept": {accept}}})
		open[accept] = newStream(resp)
		if got, _, err := open[accept].next(); err != nil || !strings.Contains(string(got), mark) {
			t.Errorf("%s: %s %q, %v", accept, resp.Status, got, err)
		}
	}
	mustSend(t, apiserver, Write{Path: labPath + "/things", Object: json.RawMessage(`{"metadata":{"name":"second"},"color":"green"}`)})
	for accept, events := range open {
		if got, _, err := events.next(); err != nil || !bytes.Contains(got, []byte("second")) || bytes.Contains(got, []byte("green")) != (accept == mediaCBOR) {
			t.Errorf("%s: %q, %v", accept, got, err)
		}
	}
}

// TestExtensionServerTakesOverACustomResource that Sluice has cached. The apiserver goes on answering
// the watches of the CRD.
func TestExtensionServerTakesOverACustomResource(t *testing.T) {
	spec := apiserver.StartExtension(t, labGroup, newLab())
	const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	mustSend(t, apiserver,
		Write{Path: crds, Object: fmt.Appendf(nil, `{"metadata":{"name":"things.%s"},"spec":{"group":%q,"scope":"Cluster",
			"names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, labGroup, labGroup)},
		Write{Path: labPath + "/things", Object: fmt.Appendf(nil, `{"apiVersion":"%s/v1","kind":"Thing","metadata":{"name":"custom"}}`, labGroup)})
	remove(t, harness.APIServices+"/v1."+labGroup)
	remove(t, crds+"/things."+labGroup)
	cached := Row{Path: labPath + "/things?resourceVersion=0", Status: 200, Source: "cache", Shows: []string{`"custom"`}}
	harness.Eventually(t, "custom resource in the cache", func() error { return cached.compare(t) })
	watch := sluice.Raw("admin").MustOpen(t, harness.Request{Path: labPath + "/things?watch=1&resourceVersion=0"})
	mustSend(t, apiserver, Write{Method: "PATCH", Path: harness.APIServices + "/v1." + labGroup, Object: fmt.Appendf(nil,
		`{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":null}},"spec":%s}`, spec)})
	passed := Row{Path: cached.Path, Status: 200, Source: "upstream", Shows: []string{`"items":[]`}}
	harness.Eventually(t, "responses of the lab", func() error { return passed.compare(t) })
	if _, err := io.Copy(io.Discard, watch.Body); err != nil {
		t.Errorf("the watch of the custom resource: %v", err)
	}
}
