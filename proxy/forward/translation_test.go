package forward

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec"
	"sluice/codec/proto"
	"sluice/proxy/request"
)

// accepting is the header of a request that wants one thing.
func accepting(accept string) http.Header { return http.Header{"Accept": {accept}} }

// What an upstream cannot make is made out of its JSON.
func TestAnswersAreMade(t *testing.T) {
	const metadata = `"metadata":{"name":%q,"namespace":"ns","resourceVersion":%q,"creationTimestamp":%q}`
	partA := fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`+metadata+`}`, "a", "7", "2026-01-02T03:04:05Z")
	partB := fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`+metadata+`}`, "b", "8", "2026-01-02T03:04:06Z")
	const listMeta = `"metadata":{"resourceVersion":"9","continue":"more","remainingItemCount":3}`
	cells := [2]string{`"cells":["a","2026-01-02T03:04:05Z"]`, `"cells":["b","2026-01-02T03:04:06Z"]`}
	rows := func(objects ...string) string {
		var all []string
		for i, o := range objects {
			all = append(all, `{`+cells[i]+`,"object":`+o+`}`)
		}
		return `"rows":[` + strings.Join(all, ",") + `]`
	}
	tests := []struct {
		name, query, accept, from, want, contentType string
	}{
		{"object in CBOR", "/a", "application/cbor", thing, thing, "application/cbor"},
		{"list in CBOR", "", "application/cbor", thingsOf, thingsOf, "application/cbor"},
		{"object in YAML", "/a", "application/yaml", thing, thing, "application/yaml"},
		{"list in YAML", "", "application/yaml;q=0.5,text/plain", thingsOf, thingsOf, "application/yaml"},
		{"better of two", "/a", "application/yaml;q=0.5,application/cbor", thing, thing, "application/cbor"},
		{"status", "/a", "application/cbor", `{"kind":"Status","apiVersion":"v1","status":"Success"}`, `{"kind":"Status","apiVersion":"v1","status":"Success"}`, "application/cbor"},
		{"metadata", "/a", "application/json" + asMetadata, thing, partA, "application/json"},
		{"metadata in CBOR", "/a", "application/cbor" + asMetadata, thing, partA, "application/cbor"},
		{"metadata list", "", "application/json" + asList, thingsOf,
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",` + listMeta + `,"items":[` + partA + `,` + partB + `]}`, "application/json"},
		{"list as metadata", "", "application/yaml" + asMetadata, thingsOf,
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",` + listMeta + `,"items":[` + partA + `,` + partB + `]}`, "application/yaml"},
		{"no items", "", "application/json" + asList, `{"kind":"ThingList","apiVersion":"lab.example.com/v1","metadata":{"resourceVersion":"9"},"items":null}`,
			`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":null}`, "application/json"},
		{"table of one", "/a", "application/json" + asTable, thing, `"metadata":{"resourceVersion":"7"},` + rows(partA), "application/json"},
		{"table", "", "application/json" + asTable, thingsOf, listMeta + `,` + rows(partA, partB), "application/json"},
		{"table in YAML", "", "application/yaml" + asTable, thingsOf, listMeta + `,` + rows(partA, partB), "application/yaml"},
		{"table without objects", "?includeObject=None", "application/json" + asTable, thingsOf, listMeta + `,` + rows("null", "null"), "application/json"},
		{"table with objects", "?includeObject=Object", "application/json" + asTable, thingsOf, listMeta + `,` + rows(thing, thing2), "application/json"},
		{"table with objects that do not say what they are", "?includeObject=Object", "application/json" + asTable,
			`{"kind":"ThingList","apiVersion":"lab.example.com/v1",` + listMeta + `,"items":[{"metadata":{"name":"a","creationTimestamp":"2026-01-02T03:04:05Z"}}]}`,
			listMeta + `,` + rows(`{"kind":"Thing","apiVersion":"lab.example.com/v1","metadata":{"name":"a","creationTimestamp":"2026-01-02T03:04:05Z"}}`), "application/json"},
	}
	for _, polite := range []bool{true, false} { // or it gives JSON to those who do not take it
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, polite %v", tt.name, polite), func(t *testing.T) {
				up := &jsonOnly{answer: says(tt.from)}
				handler := up.ServeHTTP
				if !polite {
					handler = func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", "application/json; charset=utf-8")
						_, _ = io.WriteString(w, tt.from)
					}
				}
				b := newBed(t, setting{caller: request.BearerToken, handler: handler})
				resp := b.get(t, things+tt.query, accepting(tt.accept))
				body := text(t, resp.Body)
				if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != tt.contentType ||
					resp.Header.Get("Content-Length") != fmt.Sprint(len(body)) {
					t.Fatalf("got %s with %v: %s", resp.Status, resp.Header, body)
				}
				got, want := decoded(body, tt.contentType), tt.want
				if strings.Contains(tt.accept, "Table") {
					const columns = `"columnDefinitions":[{"name":"Name",`
					if !strings.Contains(body, "columnDefinitions") || tt.contentType == "application/json" && !strings.Contains(body, columns) {
						t.Errorf("no columns in %s", body)
					}
					got = withoutColumns(got)
					want = `{"kind":"Table","apiVersion":"meta.k8s.io/v1",` + want + `}`
				}
				if diff := cmp.Diff(sorted(want), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if info := receive(t, b.info, "the end"); !info.Outcome.Transcoded || info.Outcome.Format == "" {
					t.Errorf("outcome is %+v", info.Outcome)
				}
			})
		}
	}
}

// withoutColumns cuts the definitions out of a sorted Table.
func withoutColumns(table string) string {
	head, rest, ok := strings.Cut(table, `"columnDefinitions":`)
	_, rest, found := strings.Cut(rest, `],`)
	if !ok || !found {
		return table
	}
	return head + rest
}

// Protobuf has metadata without a schema.
func TestMetadataInProtobuf(t *testing.T) {
	up := &jsonOnly{answer: says(thingsOf)}
	b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP})
	resp := b.get(t, things, accepting("application/vnd.kubernetes.protobuf"+asList))
	u, err := proto.ParseEnvelope([]byte(text(t, resp.Body)))
	var got metav1.PartialObjectMetadataList
	if err == nil {
		err = got.Unmarshal(u.Raw)
	}
	if err != nil || string(u.Kind) != "PartialObjectMetadataList" || len(got.Items) != 2 || got.Items[1].Name != "b" || got.ResourceVersion != "9" {
		t.Errorf("%s %v: %v, %v", resp.Status, resp.Header, got, err)
	}
}

// What the upstream can, it does: nothing is asked twice or touched.
func TestAbleUpstreamIsLeftAlone(t *testing.T) {
	table := `{"kind":"Table","apiVersion":"meta.k8s.io/v1", "rows":[] }`
	tests := []struct {
		name, method, path, accept, contentType, body string
		answerType, answer                            string
		code                                          int
	}{
		{name: "CBOR", accept: "application/cbor", answerType: "application/cbor", answer: encoded(thing, codec.CBOR), code: 200},
		{name: "CBOR body", method: "POST", contentType: "application/cbor", body: encoded(thing, codec.CBOR), answerType: "application/cbor", answer: "x", code: 201},
		{name: "JSON to one who takes both", accept: "application/cbor, application/json;q=0.9", answerType: "application/json", answer: " " + thing, code: 200},
		{name: "Table", accept: "application/json" + asTable, answerType: "application/json", answer: table, code: 200},
		{name: "indented Table", accept: "application/json" + asTable, answerType: "application/json", answer: "{\n  \"kind\": \"Table\",\n  \"rows\": []\n}", code: 200},
		{name: "list to kubectl", accept: "application/json" + asTable + ",application/json", answerType: "application/json", answer: thingsOf, code: 200},
		{name: "text", path: "/healthz", accept: "application/cbor", answerType: "text/plain", answer: "ok", code: 200},
		{name: "JSON that is no object", path: "/version", accept: "application/yaml", answerType: "application/json", answer: `{"major":"1"}`, code: 200},
		{name: "discovery", path: "/apis", accept: "application/cbor", answerType: "application/json", answer: `{"kind":"APIGroupList"}`, code: 406},
		{name: "log", path: "/api/v1/namespaces/ns/pods/p/log", accept: "application/cbor", answerType: "application/json", answer: `{"line":1}`, code: 200},
		{name: "proxied", path: "/api/v1/namespaces/ns/services/s/proxy/x", accept: "application/yaml", answerType: "application/json", answer: `{"kind":"x"}`, code: 200},
		{name: "proxied refusal", path: "/api/v1/namespaces/ns/services/s/proxy/x", accept: "application/yaml", answerType: "application/json", answer: `{}`, code: 406},
		{name: "refusal of what nobody has", accept: "text/html", answerType: "application/json", answer: `{"code":406}`, code: 406},
		{name: "refused YAML watch", path: things + "?watch=1", accept: "application/yaml", answerType: "application/json", answer: `{"code":406}`, code: 406},
		{name: "refused CBOR Table", accept: "application/cbor" + asTable, answerType: "application/json", answer: `{"code":406}`, code: 406},
		{name: "refused patch", method: "PATCH", contentType: "application/cbor", body: "x", answerType: "application/json", answer: `{"code":415}`, code: 415},
		{name: "refused Protobuf", method: "POST", contentType: "application/vnd.kubernetes.protobuf", body: "x", answerType: "application/json", answer: `{"code":415}`, code: 415},
		{name: "error", accept: "application/cbor", answerType: "application/json", answer: `{"code":403}`, code: 403},
		{name: "write that may be done", method: "DELETE", accept: "application/json" + asMetadata, answerType: "application/json", answer: `{"code":406}`, code: 406},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.path == "" {
				tt.path = things
			}
			if tt.method == "" {
				tt.method = "GET"
			}
			var got atomic.Pointer[string]
			handler := func(w http.ResponseWriter, r *http.Request) {
				all, _ := io.ReadAll(r.Body)
				body := string(all)
				got.Store(&body)
				w.Header().Set("Content-Type", tt.answerType)
				w.Header().Set("X-Encoding", r.Header.Get("Accept-Encoding"))
				w.WriteHeader(tt.code)
				_, _ = io.WriteString(w, tt.answer)
			}
			eachSide(t, setting{caller: request.BearerToken, handler: handler}, func(t *testing.T, b *bed) {
				h := http.Header{"Accept-Encoding": {"gzip, br"}}
				if tt.accept != "" {
					h.Set("Accept", tt.accept)
				}
				if tt.contentType != "" {
					h.Set("Content-Type", tt.contentType)
				}
				resp := b.do(t, b.request(t, tt.method, tt.path, h, strings.NewReader(tt.body)))
				if body := text(t, resp.Body); resp.StatusCode != tt.code || body != tt.answer || resp.Header.Get("Content-Type") != tt.answerType {
					t.Errorf("got %s with %v: %q", resp.Status, resp.Header, body)
				}
				if encoding := resp.Header.Get("X-Encoding"); encoding != "gzip, br" {
					t.Errorf("upstream was asked for encoding %q", encoding)
				}
				b.next(t)
				b.nothing(t)
				if *got.Load() != tt.body {
					t.Errorf("upstream got %q", *got.Load())
				}
				if info := receive(t, b.info, "the end"); info.Outcome.Transcoded {
					t.Error("counted as transcoded")
				}
			})
		})
	}
}

// Strictly, the upstream has the last word.
func TestStrictTouchesNothing(t *testing.T) {
	up := &jsonOnly{answer: says(thing)}
	b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP, strict: true})
	if resp := b.get(t, things+"/a", accepting("application/cbor")); resp.StatusCode != 406 {
		t.Errorf("answer is %s", resp.Status)
	}
	if asked := up.seen(); len(asked) != 1 {
		t.Errorf("upstream was asked %v", asked)
	}
}

// Bodies reach the upstream in JSON, once each, with everything else as it was.
func TestBodiesAreMadeJSON(t *testing.T) {
	tests := []struct {
		name, method, contentType, accept, body string
		asks                                    []ask
		format                                  string
	}{
		{"create", "POST", "application/cbor", "application/json", encoded(thing, codec.CBOR), []ask{
			{"POST", "application/cbor", "application/json", "", encoded(thing, codec.CBOR)},
			{"POST", "application/json", "application/json", "", sorted(thing)}}, ""},
		{"both", "PUT", "application/cbor", "application/cbor", encoded(thing, codec.CBOR), []ask{
			{"PUT", "application/cbor", "application/cbor", "", encoded(thing, codec.CBOR)},
			{"PUT", "application/json", "application/json", "", sorted(thing)}}, "cbor"},
		{"apply", "PATCH", "application/apply-patch+cbor", "application/json", encoded(thing, codec.CBOR), []ask{
			{"PATCH", "application/apply-patch+cbor", "application/json", "", encoded(thing, codec.CBOR)},
			{"PATCH", "application/apply-patch+yaml", "application/json", "", sorted(thing)}}, ""},
		{"YAML", "POST", "application/yaml; charset=utf-8", "application/yaml", encoded(thing, codec.YAML), []ask{
			{"POST", "application/yaml; charset=utf-8", "application/yaml", "", encoded(thing, codec.YAML)},
			{"POST", "application/yaml; charset=utf-8", "application/json", "", encoded(thing, codec.YAML)},
			{"POST", "application/json", "application/json", "", sorted(thing)}}, "yaml"},
		{"JSON for an answer in CBOR", "POST", "application/json", "application/cbor", " " + thing, []ask{
			{"POST", "application/json", "application/cbor", "", " " + thing},
			{"POST", "application/json", "application/json", "", " " + thing}}, "cbor"},
	}
	for _, tt := range tests {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %v", tt.name, chunked), func(t *testing.T) {
				up := &jsonOnly{answer: stores}
				eachSide(t, setting{caller: request.BearerToken, handler: up.ServeHTTP}, func(t *testing.T, b *bed) {
					body := io.Reader(strings.NewReader(tt.body))
					if chunked {
						body = io.MultiReader(body)
					}
					resp := b.do(t, b.request(t, tt.method, things+"?dryRun=All&fieldValidation=Warn",
						http.Header{"Content-Type": {tt.contentType}, "Accept": {tt.accept}}, body))
					got := text(t, resp.Body)
					if resp.StatusCode != 201 || decoded(got, resp.Header.Get("Content-Type")) != sorted(thing) || resp.Header.Get("Content-Type") != tt.accept {
						t.Errorf("got %s %v with %q", resp.Status, resp.Header, got)
					}
					if diff := cmp.Diff(tt.asks, up.seen(), cmp.AllowUnexported(ask{})); diff != "" {
						t.Errorf("asked (-want +got):\n%s", diff)
					}
					for range tt.asks {
						if uri := b.next(t).URI; uri != things+"?dryRun=All&fieldValidation=Warn" {
							t.Errorf("asked for %s", uri)
						}
					}
					if info := receive(t, b.info, "the end"); !info.Outcome.Transcoded || info.Outcome.Format != tt.format {
						t.Errorf("outcome is %+v", info.Outcome)
					}
				})
			})
		}
	}
}

// Everything that an answer says beside its body is kept.
func TestHeadersOfMadeAnswersAreKept(t *testing.T) {
	up := &jsonOnly{answer: func(w http.ResponseWriter, r *http.Request, body []byte) {
		h := w.Header()
		h["Warning"] = []string{`299 - "one"`, `299 - "two"`}
		h.Set("Audit-Id", "the-one")
		h.Set("X-Kubernetes-Pf-Flowschema-Uid", "f")
		h.Set("Location", "/elsewhere")
		h.Set("Retry-After", "3")
		h.Set("Cache-Control", "no-cache, private")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(body)
	}}
	b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP})
	resp := b.do(t, b.request(t, "POST", things, http.Header{"Content-Type": {"application/cbor"}, "Accept": {"application/cbor"}},
		strings.NewReader(encoded(thing, codec.CBOR))))
	want := http.Header{
		"Warning": {`299 - "one"`, `299 - "two"`}, "Audit-Id": {"the-one"}, "X-Kubernetes-Pf-Flowschema-Uid": {"f"},
		"Location": {"/elsewhere"}, "Retry-After": {"3"}, "Cache-Control": {"no-cache, private"},
		"Content-Type": {"application/cbor"}, "Content-Length": {fmt.Sprint(len(encoded(thing, codec.CBOR)))},
	}
	resp.Header.Del("Date")
	if diff := cmp.Diff(want, resp.Header); diff != "" || resp.StatusCode != 202 {
		t.Errorf("%s (-want +got):\n%s", resp.Status, diff)
	}
}

// Names that are set twice in YAML are told of as the apiserver does, though
// the JSON that the upstream gets does not have them any more.
func TestDuplicatesInYAMLAreToldOf(t *testing.T) {
	const twice = "kind: Thing\napiVersion: lab.example.com/v1\nspec:\n  a: 1\n  a: 2\nspec:\n  a: 3\n"
	const refusal = "Thing in version \"v1\" cannot be handled as a Thing: strict decoding error: yaml: unmarshal errors:\n" +
		"  line 5: key \"a\" already set in map\n  line 7: key \"spec\" already set in map"
	warnings := []string{`299 - "line 5: key \"a\" already set in map"`, `299 - "line 7: key \"spec\" already set in map"`, `299 - "own"`}
	for _, tt := range []struct {
		query, message string
		code           int
		warnings       []string
	}{
		{"", "", 201, warnings},
		{"?fieldValidation=Warn", "", 201, warnings},
		{"?fieldValidation=Ignore", "", 201, warnings[2:]},
		{"?fieldValidation=Strict", refusal, 400, nil},
	} {
		t.Run(tt.query, func(t *testing.T) {
			up := &jsonOnly{answer: func(w http.ResponseWriter, r *http.Request, body []byte) {
				w.Header().Set("Warning", `299 - "own"`)
				stores(w, r, body)
			}}
			b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP})
			resp := b.do(t, b.request(t, "POST", things+tt.query, http.Header{"Content-Type": {"application/yaml"}}, strings.NewReader(twice)))
			body := text(t, resp.Body)
			if resp.StatusCode != tt.code || !strings.Contains(body, string(codec.NewBadRequest(tt.message).Append(nil, codec.Format{}))) && tt.message != "" {
				t.Errorf("got %s: %s", resp.Status, body)
			}
			if diff := cmp.Diff(tt.warnings, resp.Header["Warning"]); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if asked := up.seen(); (len(asked) == 2) != (tt.code == 201) || tt.code == 201 && !strings.Contains(asked[1].body, `"spec":{"a":3}`) {
				t.Errorf("upstream was asked %v", asked)
			}
		})
	}
}

// Errors come in what the client reads, as the apiserver chooses it.
func TestErrorsOfMadeAnswers(t *testing.T) {
	status := codec.NewNotFound(codec.GroupResource{Group: "lab.example.com", Resource: "things"}, "a")
	forbidden := codec.NewForbiddenPath("why")
	for _, tt := range []struct {
		accept, contentType string
		status              *codec.Status
		format              codec.Format
	}{
		{"application/cbor", "application/cbor", status, codec.Format{Encoding: codec.CBOR}},
		{"application/yaml", "application/yaml", status, codec.Format{Encoding: codec.YAML}},
		{"application/json" + asTable, "application/json", status, codec.Format{Pretty: true}},
		{"application/cbor" + asMetadata, "application/json", status, codec.Format{Pretty: true}},
		{"application/cbor", "application/json", forbidden, codec.Format{Pretty: true}},
	} {
		t.Run(fmt.Sprint(tt.accept, tt.status.Code), func(t *testing.T) {
			up := &jsonOnly{answer: func(w http.ResponseWriter, _ *http.Request, _ []byte) { refuse(w, tt.status) }}
			b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP})
			resp := b.get(t, things+"/a", accepting(tt.accept))
			body, contentType := text(t, resp.Body), resp.Header.Get("Content-Type")
			if resp.StatusCode != tt.status.Code || contentType != tt.contentType {
				t.Errorf("got %s with %v", resp.Status, resp.Header)
			}
			want := string(tt.status.Append(nil, tt.format))
			if tt.format.Encoding == codec.CBOR { // members have no order there
				want, body = decoded(want, contentType), decoded(body, contentType)
			}
			if body != want {
				t.Errorf("got %q, want %q", body, want)
			}
		})
	}
}

// A text that takes the place of an answer stays what it is.
func TestTextsInPlaceOfAnswersPass(t *testing.T) {
	up := &jsonOnly{answer: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, "Too many requests, please try again later.\n")
	}}
	b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP})
	resp := b.get(t, things, accepting("application/cbor"))
	if body := text(t, resp.Body); resp.StatusCode != 429 || body != "Too many requests, please try again later.\n" ||
		resp.Header.Get("Retry-After") != "1" || resp.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("got %s with %v: %s", resp.Status, resp.Header, body)
	}
}

// A server that refuses what it should have is not asked for ever.
func TestRefusalsEnd(t *testing.T) {
	for _, code := range []int{406, 415} {
		handler := func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, &codec.Status{Message: map[int]string{
				406: "406: Not Acceptable\n\nAvailable representations: application/json", 415: "415: Unsupported Media Type",
			}[code], Code: code})
		}
		b := newBed(t, setting{caller: request.BearerToken, handler: handler})
		h := http.Header{"Content-Type": {"application/yaml"}, "Accept": {"application/yaml"}}
		resp := b.do(t, b.request(t, "POST", things, h, strings.NewReader("kind: Thing")))
		if resp.StatusCode != code {
			t.Errorf("got %s", resp.Status)
		}
		b.next(t)
		b.next(t)
		b.nothing(t)
	}
}

// What is no CBOR is refused with a 400, but only of those who may write.
func TestBadBodies(t *testing.T) {
	for name, tt := range map[string]struct {
		contentType, body, message string
		code                       int
	}{
		"duplicate name":  {"application/cbor", "\xd9\xd9\xf7\xa2\x41a\x01\x41a\x02", `duplicate map key "a"`, 400},
		"cut":             {"application/cbor", "\xd9\xd9\xf7\xa2\x41a", "unexpected EOF", 400},
		"more":            {"application/cbor", "\xa0\xa0", "extraneous data", 400},
		"nothing":         {"application/cbor", "", "EOF", 400},
		"deep":            {"application/cbor", strings.Repeat("\x81", 20000), "exceeded max nested level", 400},
		"bad YAML":        {"application/yaml", "a: b: c", "mapping values are not allowed", 400},
		"YAML that grows": {"application/yaml", "a: &a " + strings.Repeat("x", 1000) + "\nb: [" + strings.Repeat("*a,", 4000) + "]", "limit is 3145728", 413},
		"CBOR that grows": {"application/cbor", "\xa1\x41a\x5a\x00\x10\x00\x00" + strings.Repeat("\x01", 1<<20), "limit is 3145728", 413},
		"long":            {"application/cbor", "\xa1\x41a\x5a\x00\x30\x00\x00" + strings.Repeat("x", maxRequest), "limit is 3145728", 413},
	} {
		t.Run(name, func(t *testing.T) {
			up := &jsonOnly{answer: stores}
			refusing := func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "Bearer nobody" {
					refuse(w, codec.NewForbiddenPath("why"))
					return
				}
				if tt.body == "" {
					refuse(w, unsupported)
					return
				}
				up.ServeHTTP(w, r)
			}
			b := newBed(t, setting{caller: request.BearerToken, handler: refusing})
			post := func(token, body string) (int, string) {
				h := http.Header{"Content-Type": {tt.contentType}, "Authorization": {"Bearer " + token}}
				resp := b.do(t, b.request(t, "POST", things, h, strings.NewReader(body)))
				return resp.StatusCode, text(t, resp.Body)
			}
			for range 2 { // the second time the upstream is known to lack CBOR
				if code, body := post("somebody", tt.body); code != tt.code || !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), tt.message) {
					t.Errorf("got %d: %s", code, body)
				}
				if code, _ := post("nobody", tt.body); code != 403 {
					t.Errorf("who may not write gets %d", code)
				}
				if tt.body != "" && tt.contentType == "application/cbor" {
					if code, body := post("somebody", encoded(thing, codec.CBOR)); code != 201 {
						t.Errorf("good body: %d: %s", code, body)
					}
				}
			}
			for _, a := range up.seen() {
				if strings.HasPrefix(a.contentType, "application/json") && a.body != sorted(thing) {
					t.Errorf("upstream got %.100q", a.body)
				}
			}
		})
	}
}

// A body at the limit is converted; one beyond it passes, for the upstream that
// can read it.
func TestLongBodies(t *testing.T) {
	long := func(n int) string { // so many bytes of CBOR, and one less of JSON
		const head = "\xd9\xd9\xf7\xa1\x41a\x5a"
		text := n - len(head) - 4
		return head + string([]byte{byte(text >> 24), byte(text >> 16), byte(text >> 8), byte(text)}) + strings.Repeat("x", text)
	}
	up := &jsonOnly{answer: stores}
	b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP})
	h := http.Header{"Content-Type": {"application/cbor"}}
	resp := b.do(t, b.request(t, "POST", things, h, strings.NewReader(long(maxRequest))))
	if body := text(t, resp.Body); resp.StatusCode != 201 || len(body) < maxRequest-10 {
		t.Errorf("at the limit: %s with %d bytes", resp.Status, len(body))
	}
	able := newBed(t, setting{caller: request.BearerToken, handler: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}})
	more := long(maxRequest + 100000)
	resp = able.do(t, able.request(t, "POST", things, h, strings.NewReader(more)))
	if body := text(t, resp.Body); resp.StatusCode != 200 || body != more {
		t.Errorf("beyond the limit: %s with %d bytes, %d were sent", resp.Status, len(body), len(more))
	}
}

// An answer too long to be held is refused, and cut off at the upstream.
func TestLongAnswers(t *testing.T) {
	for method, want := range map[string]int{"GET": 406, "DELETE": 500} {
		done := make(chan error, 1)
		up := &jsonOnly{answer: func(w http.ResponseWriter, r *http.Request, _ []byte) {
			piece := bytes.Repeat([]byte(" "), 1<<20)
			_, err := io.WriteString(w, `{"kind":"ThingList","items":[`)
			for n := 0; n <= maxAnswer>>20 && err == nil; n++ {
				_, err = w.Write(piece)
			}
			if err == nil {
				<-r.Context().Done()
				err = r.Context().Err()
			}
			done <- err
		}}
		b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP})
		resp := b.do(t, b.request(t, method, things, accepting("application/cbor"), nil))
		body := decoded(text(t, resp.Body), resp.Header.Get("Content-Type"))
		if resp.StatusCode != want || !strings.Contains(body, "too large to be converted to application/cbor: limit is 33554432 bytes") {
			t.Errorf("%s: got %s: %s", method, resp.Status, body)
		}
		if err := receive(t, done, "the end at the upstream"); err == nil {
			t.Error("the upstream was read to its end")
		}
	}
}

// All bodies together are bounded too, and what was taken is given back.
func TestRoomIsBoundedAndGivenBack(t *testing.T) {
	release := make(chan bool)
	up := &jsonOnly{answer: func(w http.ResponseWriter, r *http.Request, body []byte) {
		<-release
		stores(w, r, body)
	}}
	b := newBed(t, setting{caller: request.Unauthenticated, handler: up.ServeHTTP})
	post := func() *http.Response {
		return b.do(t, b.request(t, "POST", things, http.Header{"Content-Type": {"application/cbor"}, "Accept": {"application/cbor"}},
			strings.NewReader(encoded(thing, codec.CBOR))))
	}
	const size = 3 * writeRoom
	b.forwarder.unknown = newRoom(size, size)
	const many = size/writeRoom + 1 // what is set aside for each is a little more than writeRoom
	codes := make(chan int, many)
	var posts sync.WaitGroup
	for range many {
		posts.Go(func() { codes <- post().StatusCode })
	}
	if code := receive(t, codes, "the first answer"); code != 429 {
		t.Errorf("beyond the limit: %d", code)
	}
	close(release)
	posts.Wait()
	close(codes)
	for code := range codes {
		if code != 201 && code != 429 {
			t.Errorf("within the limit: %d", code)
		}
	}
	if resp := post(); resp.StatusCode != 201 {
		t.Errorf("afterwards: %s", resp.Status)
	}
	for range many + 1 {
		receive(t, b.info, "the end")
	}
	if left := free(b.forwarder.unknown); left != size {
		t.Errorf("%d of %d are left", left, int64(size))
	}
	if left := free(b.forwarder.known); left != knownRoom {
		t.Errorf("%d of %d are left to those who are known", left, knownRoom)
	}
}

// An API is remembered to lack CBOR, for a time, and only it.
func TestLackIsRememberedAndForgotten(t *testing.T) {
	var now atomic.Int64
	up := &jsonOnly{answer: says(thing)}
	b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP, now: func() time.Time { return time.Unix(now.Load(), 0) }})
	asks := func(path, accept string) int {
		resp := b.get(t, path, accepting(accept))
		if _ = text(t, resp.Body); resp.StatusCode != 200 {
			t.Errorf("%s %s: %s", path, accept, resp.Status)
		}
		return len(up.seen())
	}
	for _, step := range []struct {
		after  time.Duration
		path   string
		accept string
		asks   int
	}{
		{0, things, "application/cbor", 2},
		{0, things, "application/cbor", 1},
		{0, things + "/a?watch=0", "application/cbor" + asMetadata, 1},
		{0, things, "application/yaml", 2},
		{0, things, "application/yaml, application/cbor", 2}, // it could have had YAML
		{0, "/apis/lab.example.com/v2/things", "application/cbor", 2},
		{0, "/api/v1/pods", "application/cbor", 2},
		{lackFor - time.Second, things, "application/cbor", 1},
		{time.Second, things, "application/cbor", 2},
	} {
		now.Add(int64(step.after / time.Second))
		if got := asks(step.path, step.accept); got != step.asks {
			t.Errorf("%s as %s: asked %d times, want %d", step.path, step.accept, got, step.asks)
		}
	}
}

// A metadata list may be refused though CBOR is there.
func TestLackIsNotGuessed(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		accept := r.Header.Get("Accept")
		switch {
		case strings.HasPrefix(accept, "application/cbor;as=PartialObjectMetadata;"):
			refuse(w, codec.NewNotAcceptable("you requested PartialObjectMetadata, but the requested object is a list"))
		case accept == "application/cbor":
			w.Header().Set("Content-Type", "application/cbor")
			_, _ = io.WriteString(w, encoded(thingsOf, codec.CBOR))
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, thingsOf)
		}
	}
	b := newBed(t, setting{caller: request.BearerToken, handler: handler})
	_ = text(t, b.get(t, things, accepting("application/cbor"+asMetadata)).Body)
	b.next(t)
	b.next(t)
	_ = text(t, b.get(t, things, accepting("application/cbor")).Body)
	if got := b.next(t).Header.Get("Accept"); got != "application/cbor" {
		t.Errorf("then asked for %s", got)
	}
	b.nothing(t)
}

func TestLacksAreBounded(t *testing.T) {
	now := time.Unix(0, 0)
	l := lacks{now: func() time.Time { return now }}
	for i := range maxLacks + 10 {
		l.add(fmt.Sprint(i))
	}
	if len(l.until) != maxLacks || !l.has("0") || l.has(fmt.Sprint(maxLacks)) {
		t.Errorf("%d are remembered", len(l.until))
	}
	now = now.Add(lackFor)
	l.add("new")
	if len(l.until) != 1 || !l.has("new") || l.has("0") {
		t.Errorf("%d are remembered later", len(l.until))
	}
}

// Long answers are compressed as the apiserver does, whatever the upstream did.
func TestMadeAnswersAreCompressed(t *testing.T) {
	var list strings.Builder
	list.WriteString(`{"kind":"ThingList","apiVersion":"lab.example.com/v1","metadata":{},"items":[`)
	for i := range 2000 {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"kind":"Thing","apiVersion":"lab.example.com/v1","metadata":{"name":"thing-%d","uid":"some-text-that-is-long"}}`, i)
	}
	list.WriteString("]}")
	unpack := map[string]func(io.Reader) (io.Reader, error){
		"":     func(r io.Reader) (io.Reader, error) { return r, nil },
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	}
	for accepts, want := range map[string]string{"": "", "gzip": "gzip", "gzip;q=1": "", "gzip, zstd": "zstd"} {
		for _, polite := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, polite %v", accepts, polite), func(t *testing.T) {
				up := &jsonOnly{answer: says(list.String())}
				handler := up.ServeHTTP
				if !polite {
					handler = func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Content-Type", "application/json")
						if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
							w.Header().Set("Content-Encoding", "gzip")
							z := gzip.NewWriter(w)
							defer z.Close()
							_, _ = io.WriteString(z, list.String())
							return
						}
						_, _ = io.WriteString(w, list.String())
					}
				}
				b := newBed(t, setting{caller: request.BearerToken, handler: handler})
				h := accepting("application/cbor")
				if accepts != "" {
					h.Set("Accept-Encoding", accepts)
				}
				resp := b.get(t, things, h)
				if got := resp.Header.Get("Content-Encoding"); got != want || (resp.Header.Get("Vary") != "") != (want != "") {
					t.Fatalf("got %q, want %q: %v", got, want, resp.Header)
				}
				in, err := unpack[want](resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				if got := text(t, in); decoded(got, "application/cbor") != sorted(list.String()) {
					t.Errorf("got %.200q", got)
				}
			})
		}
	}
}

// An answer that the upstream did not finish is none, as without conversion.
func TestCutAnswersAreNotMade(t *testing.T) {
	for _, polite := range []bool{true, false} {
		up := &jsonOnly{answer: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			_, _ = io.WriteString(w, thingsOf[:100])
			abort(w)
		}}
		handler := up.ServeHTTP
		if !polite {
			handler = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				up.answer(w, r, nil)
			}
		}
		eachSide(t, setting{caller: request.BearerToken, handler: handler}, func(t *testing.T, b *bed) {
			resp, err := b.client.Do(b.request(t, "GET", things, accepting("application/cbor"), nil))
			if err == nil {
				defer resp.Body.Close()
				_, err = io.ReadAll(resp.Body)
			}
			if err == nil {
				t.Errorf("polite %v: %s ended well", polite, resp.Status)
			}
			if info := receive(t, b.info, "the end"); info.Outcome.Reason != "answer was cut" {
				t.Errorf("reason is %q", info.Outcome.Reason)
			}
		})
	}
}

// An answer that is no JSON is an error, not a crash.
func TestBadAnswers(t *testing.T) {
	for _, body := range []string{"", "nonsense", `{"kind":"ThingList","items":[1,`, `{"kind":"ThingList","items":[1]}`, `[]`, `{"kind":7}`, "\x00"} {
		for _, accept := range []string{"application/cbor", "application/json" + asTable, "application/cbor" + asMetadata} {
			up := &jsonOnly{answer: says(body)}
			b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP})
			resp := b.get(t, things, accepting(accept))
			got := text(t, resp.Body)
			if resp.StatusCode != 500 && resp.StatusCode != 200 || resp.StatusCode == 500 && !strings.Contains(decoded(got, resp.Header.Get("Content-Type")), "cannot be converted") {
				t.Errorf("%q as %s: %s with %q", body, accept, resp.Status, got)
			}
		}
	}
}

// A client that does not finish its body makes no request.
func TestCutUploadIsNotTranslated(t *testing.T) {
	up := &jsonOnly{answer: stores}
	eachSide(t, setting{caller: request.BearerToken, handler: up.ServeHTTP}, func(t *testing.T, b *bed) {
		in, out := io.Pipe()
		req := b.request(t, "POST", things, http.Header{"Content-Type": {"application/cbor"}}, in)
		go func() {
			_, _ = io.WriteString(out, encoded(thing, codec.CBOR)[:20])
			out.CloseWithError(errors.New("gone"))
		}()
		if resp, err := b.client.Do(req); err == nil {
			t.Errorf("answer is %s", resp.Status)
			resp.Body.Close()
		}
		if info := receive(t, b.info, "the end"); info.Outcome.Reason != "caller went away" {
			t.Errorf("reason is %q", info.Outcome.Reason)
		}
		b.nothing(t)
	})
}

// Many at a time, known and not, with and without bodies.
func TestTranslationsRunTogether(t *testing.T) {
	up := &jsonOnly{answer: func(w http.ResponseWriter, r *http.Request, body []byte) {
		if r.Method == "GET" {
			body = []byte(thingsOf)
		}
		_, _ = w.Write(body)
	}}
	b := newBed(t, setting{caller: request.BearerToken, handler: func(w http.ResponseWriter, r *http.Request) { up.ServeHTTP(w, r) }})
	go func() {
		for range b.got { // nobody looks
		}
	}()
	defer close(b.got)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for j := range 10 {
				object := strings.Replace(thing, `"a"`, fmt.Sprintf(`"a-%d-%d"`, i, j), 1)
				h := http.Header{"Content-Type": {"application/cbor"}, "Accept": {"application/cbor"}}
				resp := b.do(t, b.request(t, "POST", things, h, strings.NewReader(encoded(object, codec.CBOR))))
				if got := decoded(text(t, resp.Body), "application/cbor"); got != sorted(object) {
					t.Errorf("got %s", got)
				}
				resp = b.get(t, things, accepting("application/yaml"))
				if got := decoded(text(t, resp.Body), "application/yaml"); got != sorted(thingsOf) {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	all.Wait()
}
