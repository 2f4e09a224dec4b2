package verify

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/cmd/sluice/conformance"
)

// cases are proxies that break something, and the rows that must say so.
var cases = map[string]struct {
	proxy
	want []string
	// rows are those to check, where the proxy breaks others that run beside them.
	rows []string
	// idle is how long a watch must stay open, if not as long as in the other cases.
	idle time.Duration
}{
	"nothing": {},
	"holds events back until a buffer is full":  {proxy: proxy{response: inWatches(held)}, want: []string{"first event"}},
	"holds headers back with the events":        {proxy: proxy{around: unflushed}, want: []string{"watch header"}},
	"is busy at first":                          {proxy: proxy{around: busy()}},
	"refuses streaming lists":                   {proxy: proxy{around: instead(streaming, 422, "application/json", failure(422))}, want: []string{"streaming list"}},
	"drops sendInitialEvents":                   {proxy: proxy{request: without("sendInitialEvents")}, want: []string{"sendInitialEvents"}},
	"drops resourceVersionMatch":                {proxy: proxy{request: without("resourceVersionMatch")}, want: []string{"match"}},
	"drops resourceVersion":                     {proxy: proxy{request: without("resourceVersion")}, want: []string{"watch version"}},
	"drops limit":                               {proxy: proxy{request: without("limit")}, want: []string{"pages"}},
	"drops the continue token of a request":     {proxy: proxy{request: without("continue")}, want: []string{"pages"}},
	"drops timeoutSeconds":                      {proxy: proxy{request: without("timeoutSeconds")}, want: []string{"watch end"}},
	"drops label selectors":                     {proxy: proxy{request: without("labelSelector")}, want: []string{"selectors"}},
	"drops field selectors":                     {proxy: proxy{request: without("fieldSelector")}, want: []string{"selectors"}},
	"drops allowWatchBookmarks":                 {proxy: proxy{request: without("allowWatchBookmarks")}, want: []string{"streaming list"}},
	"drops Table":                               {proxy: proxy{request: acceptWithout("as=Table")}, want: []string{"table"}},
	"drops PartialObjectMetadataList":           {proxy: proxy{request: acceptWithout("as=PartialObjectMetadataList")}, want: []string{"metadata"}},
	"drops PartialObjectMetadata of watches":    {proxy: proxy{request: acceptWithout("as=PartialObjectMetadata;")}, want: []string{"metadata events"}},
	"drops Protobuf":                            {proxy: proxy{request: acceptWithout("protobuf")}, want: []string{"protobuf"}},
	"drops Accept-Encoding":                     {proxy: proxy{request: func(r *http.Request) { r.Header.Del("Accept-Encoding") }}, want: []string{"compression"}},
	"compresses twice":                          {proxy: proxy{response: compress}, want: []string{"compression"}},
	"loses Content-Encoding":                    {proxy: proxy{response: func(r *http.Response) { r.Header.Del("Content-Encoding") }}, want: []string{"compression"}},
	"lets caches keep answers":                  {proxy: proxy{response: func(r *http.Response) { r.Header.Del("Cache-Control") }}, want: []string{"caching"}},
	"speaks HTTP/1.1":                           {proxy: proxy{http1: true}, want: []string{"protocol"}},
	"has pages of its own for errors":           {proxy: proxy{response: errorPages}, want: []string{"errors"}},
	"answers 500 for versions that are gone":    {proxy: proxy{around: instead(fromVersion1, 500, "application/json", failure(500))}, want: []string{"expired version"}},
	"answers 410 for versions that are gone":    {proxy: proxy{around: instead(fromVersion1, 410, "application/json", failure(410))}},
	"refuses parentheses":                       {proxy: proxy{around: instead(parentheses, 403, "text/html", html)}, want: []string{"selectors"}},
	"shows a page instead of a list":            {proxy: proxy{around: instead(hasPath("/configmaps"), 200, "text/html", html)}, want: []string{"list"}},
	"refuses a list in its own name":            {proxy: proxy{around: instead(hasPath("/configmaps"), 403, "text/html", html)}, want: []string{"list"}},
	"withholds bookmarks":                       {proxy: proxy{response: events(noBookmarks)}, want: []string{"streaming list"}},
	"takes the annotations of bookmarks":        {proxy: proxy{response: events(noAnnotations)}, want: []string{"streaming list"}},
	"filters an object out of watches":          {proxy: proxy{response: events(noC)}, want: []string{"streamed objects"}},
	"closes idle connections":                   {proxy: proxy{response: inWatches(endAfter(4 * time.Second))}, want: []string{"idle watch"}, idle: 30 * time.Second},
	"cuts watches at their end":                 {proxy: proxy{response: inWatches(cut)}, want: []string{"watch end"}},
	"loses the end of watches":                  {proxy: proxy{response: endless}, want: []string{"watch end"}},
	"lets through ten watches":                  {proxy: proxy{around: atMost(10)}, want: []string{"many watches"}, rows: []string{"many watches"}},
	"shows newer versions than those asked for": {proxy: proxy{around: newer}, want: []string{"exact version"}},
}

func TestTheRowOfWhatIsBrokenFails(t *testing.T) {
	t.Parallel()
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results := verify(t, conformance.Options{
				Target: client(t, serve(t, tt.proxy)), Idle: tt.idle, Resources: []string{"clusterroles", "configmaps"}, Rows: tt.rows,
			})
			if rows, report := notWell(results); !slices.Equal(rows, tt.want) {
				t.Errorf("the rows %q are not well, want %q:\n%s", rows, tt.want, report)
			}
		})
	}
}

// TestEveryRowHasAProxyThatBreaksIt keeps rows out that nothing breaks.
func TestEveryRowHasAProxyThatBreaksIt(t *testing.T) {
	for _, row := range conformance.Rows() {
		broken := row.Name == "same objects" // TestEndpointsAreCompared breaks it
		for _, tt := range cases {
			broken = broken || slices.Equal(tt.want, []string{row.Name})
		}
		if !broken {
			t.Errorf("no proxy breaks %s alone", row.Name)
		}
	}
}

// TestEndpointsAreCompared: what no law forbids shows beside the apiserver.
func TestEndpointsAreCompared(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		proxy
		row     string
		verdict conformance.Verdict
	}{
		"nothing":          {},
		"another protocol": {proxy{http1: true}, "protocol", conformance.Costs},
		"another type": {proxy{response: func(r *http.Response) {
			if strings.Contains(r.Request.Header.Get("Accept"), "as=Table") {
				r.Header.Set("Content-Type", "application/json;charset=utf-8")
			}
		}}, "table", conformance.Differs},
		"an object is missing": {proxy{response: withoutItem("c")}, "same objects", conformance.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results := verify(t, conformance.Options{
				Target: client(t, serve(t, tt.proxy)), Against: client(t, apiserver.RESTConfig("admin")),
				Resources: []string{"clusterroles", "configmaps"},
				Rows:      []string{"list", "table", "protocol", "exact version", "same objects"},
			})
			found := conformance.Verdict("")
			for _, r := range results {
				if r.Row == tt.row && r.Verdict != conformance.OK {
					found = r.Verdict
				}
			}
			if rows, report := notWell(results); found != tt.verdict || tt.row == "" && len(rows) > 0 {
				t.Errorf("%s is %q, want %q:\n%s", tt.row, found, tt.verdict, report)
			}
		})
	}
}

func fromVersion1(r *http.Request) bool { return r.URL.Query().Get("resourceVersion") == "1" }

func streaming(r *http.Request) bool {
	return r.URL.Query().Has("sendInitialEvents") && r.URL.Query().Has("resourceVersionMatch")
}

func parentheses(r *http.Request) bool { return strings.Contains(r.URL.Query().Encode(), "%28") }

// failure is a Status of the API.
func failure(code int) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","code":%d}`, code)
}

// errorPages replaces the bodies of errors.
func errorPages(r *http.Response) {
	if r.StatusCode >= http.StatusBadRequest {
		r.Header.Set("Content-Type", "text/html")
		setBody(r, []byte(html))
	}
}

// compress compresses what is compressed.
func compress(r *http.Response) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var twice bytes.Buffer
	w := gzip.NewWriter(&twice)
	_, _ = w.Write(raw)
	_ = w.Close()
	setBody(r, twice.Bytes())
}

func noBookmarks(event map[string]any) map[string]any {
	if event["type"] == "BOOKMARK" {
		return nil
	}
	return event
}

func noAnnotations(event map[string]any) map[string]any {
	if event["type"] == "BOOKMARK" {
		delete(event["object"].(map[string]any)["metadata"].(map[string]any), "annotations")
	}
	return event
}

func noC(event map[string]any) map[string]any {
	if named(event["object"].(map[string]any)) == "c" {
		return nil
	}
	return event
}

// newer forwards lists of an exact version without it, and has something happen before.
func newer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Has("resourceVersion") && query.Get("resourceVersionMatch") == "Exact" {
			if err := post("/api/v1/namespaces/default/events", `{"metadata":{"generateName":"e"},"involvedObject":{"namespace":"default"}}`); err != nil {
				panic(err)
			}
			without("resourceVersion")(r)
			without("resourceVersionMatch")(r)
		}
		next.ServeHTTP(w, r)
	})
}
