package authz

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/test/harness"
)

// reads can be served from the cache.
var reads = []string{
	"/api/v1/pods?resourceVersion=0",
	"/api/v1/namespaces/a/pods?resourceVersion=0",
	"/api/v1/namespaces/b/pods?resourceVersion=0",
	"/api/v1/namespaces/a/pods/p?resourceVersion=0",
	"/api/v1/namespaces/b/pods/p?resourceVersion=0",
	"/api/v1/namespaces/a/pods?resourceVersion=0&watch=1",
	"/api/v1/pods?resourceVersion=0&watch=1",
	"/api/v1/watch/namespaces/a/pods?resourceVersion=0",
	"/api/v1/namespaces/a/pods?resourceVersion=0&labelSelector=a%21%3Db",
	"/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dn1",
	"/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dn2",
	"/api/v1/pods?resourceVersion=0&watch=1&fieldSelector=spec.nodeName%3Dn1",
	"/api/v1/namespaces/a/configmaps?resourceVersion=0",
	"/api/v1/namespaces/a/configmaps/one?resourceVersion=0",
	"/api/v1/namespaces/a/configmaps/two?resourceVersion=0",
	"/api/v1/namespaces/a/configmaps?resourceVersion=0&fieldSelector=metadata.name%3Done",
	"/api/v1/namespaces/a/configmaps?resourceVersion=0&watch=1&fieldSelector=metadata.name%3Done",
	"/api/v1/namespaces/a/configmaps?resourceVersion=0&watch=1&fieldSelector=metadata.name%3Dtwo",
	"/api/v1/watch/namespaces/a/configmaps/one?resourceVersion=0",
	"/api/v1/watch/namespaces/a/configmaps?resourceVersion=0&fieldSelector=metadata.name%3Done",
	"/api/v1/configmaps?resourceVersion=0&fieldSelector=metadata.name%3Done",
	"/api/v1/namespaces?resourceVersion=0",
	"/api/v1/namespaces/a?resourceVersion=0",
	"/api/v1/namespaces/b?resourceVersion=0",
	"/api/v1/watch/namespaces/a?resourceVersion=0",
}

// passed are requests that Sluice forwards.
var passed = []harness.Request{
	{Path: "/api/v1/namespaces/a/pods/p"},
	{Path: "/api/v1/namespaces/a/pods/p/status"},
	{Path: "/api/v1/namespaces/b/secrets"},
	{Path: "/api/v1/pods?labelSelector=" + strings.Repeat("a%2C", 3000) + "a&limit=1"},
	{Path: "/version"},
	{Path: "/apis"},
	{Path: "/metrics/slis"},
	{Method: http.MethodDelete, Path: "/api/v1/namespaces/a/configmaps/one?dryRun=All"},
	{Method: http.MethodPost, Path: "/api/v1/namespaces/a/configmaps?dryRun=All", Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(`{"metadata":{"name":"three"}}`)},
}

func TestAnswersFollowTheRightsOfTheCaller(t *testing.T) {
	t.Parallel()
	for resource, name := range map[string]string{"pods": "pods.v1", "configmaps": "configmaps.v1", "namespaces": "namespaces.v1"} {
		sluice.WaitForCacheSync(t, "/api/v1/"+resource, name)
	}
	aggregated := harness.Request{Path: "/api/v1/configmaps", Header: impersonating("by-aggregation")}
	apiserver.Raw("admin").AwaitStatus(t, http.StatusOK, aggregated)
	codes := map[int]int{}
	for _, c := range callers(t) {
		t.Run(c.name, func(t *testing.T) {
			direct, through := c.clients(t)
			for i := range len(reads) + len(passed) {
				q := harness.Request{HTTP1: i%2 == 0}
				if i < len(reads) {
					q.Path = reads[i]
				} else {
					q = passed[i-len(reads)]
				}
				q.Header = merged(q.Header, c.header)
				want, got := ask(t, direct, q), ask(t, through, q)
				codes[got.code]++
				if diff := cmp.Diff(want.visible(), got.visible()); diff != "" {
					t.Errorf("%s %.100s (-apiserver +sluice):\n%s", q.Method, q.Path, diff)
				}
				// The controllers delete pods of missing nodes after a while.
				cached := i < len(reads) && c.known && (got.code == http.StatusOK || got.code == http.StatusNotFound)
				if strings.HasPrefix(got.source, "cache") != cached {
					t.Errorf("%s %.100s: %d from %s", q.Method, q.Path, got.code, got.source)
				}
			}
		})
	}
	for _, code := range []int{200, 201, 401, 403} {
		if codes[code] == 0 {
			t.Errorf("no answer has code %d", code)
		}
	}
}

func merged(headers ...http.Header) http.Header {
	all := http.Header{"Accept": {"application/json"}}
	for _, h := range headers {
		for name, values := range h {
			all[name] = values
		}
	}
	return all
}

// answer is what a caller sees of a response.
type answer struct {
	code   int
	body   string // of an error
	source string
}

func (a answer) visible() []string { return []string{fmt.Sprint(a.code), a.body} }

// ask sends a request and reads the response if it is an error.
func ask(t *testing.T, from *harness.RawClient, q harness.Request) answer {
	t.Helper()
	resp, err := from.Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	a := answer{code: resp.StatusCode, source: resp.Header.Get("Sluice-Source")}
	if resp.StatusCode >= http.StatusBadRequest {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		a.body = string(body)
	}
	return a
}
