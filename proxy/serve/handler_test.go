package serve

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/plan"
	"sluice/test/support/servetest"
)

// env is a Handler in its surroundings.
type env struct {
	*servetest.Env
	handler *Handler
}

func newEnv(t testing.TB, resource *resources.CachedResource, o Options) *env {
	e := servetest.New(t, resource)
	o.Resources = cmp.Or[plan.Resources](o.Resources, e)
	o.Access, o.Draining, o.Next = e.Access, e.Draining, http.HandlerFunc(e.Forward)
	o.PassedBytes, o.Recheck = cmp.Or(o.PassedBytes, 128<<20), cmp.Or(o.Recheck, 30*time.Second)
	h := New(o)
	e.Handler = h
	return &env{e, h}
}

// Whatever Sluice writes has the headers that the apiserver adds for the origin. What passes has them from the apiserver,
// and would have them twice.
func TestReadsOfOtherOriginsHaveTheHeadersOfTheApiserver(t *testing.T) {
	const allow = "Access-Control-Allow-Origin"
	const cached, gateway, upstream = request.SourceCache, request.SourceGateway, request.SourceUpstream
	for _, row := range []struct {
		url    string
		change func(*env)
		code   int
		source string
	}{
		{latestFoo + "?resourceVersion=0", nil, 200, cached},
		{latestFoo + "x?resourceVersion=0", nil, 404, cached},
		{servetest.FooList + "?resourceVersion=0", nil, 200, cached},
		{servetest.FooWatch + "resourceVersion=3&timeoutSeconds=1", nil, 200, cached},
		{servetest.FooWatch + "resourceVersion=2", func(e *env) { e.Discards = 2 }, 410, gateway},
		{servetest.FooList + "?limit=x", nil, 200, upstream},
		{servetest.FooList + "?resourceVersion=0", func(e *env) { e.Missing = "excluded" }, 200, upstream},
		{servetest.FooList + "?resourceVersion=0", func(e *env) { e.Access.Unasked = servetest.ErrUnreachable }, 200, upstream},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newEnv(t, servetest.Foos(3), Options{})
			e.Access.CORS = http.Header{allow: {"https://example.com"}}
			if row.change != nil {
				row.change(e)
			}
			w := httptest.NewRecorder()
			o := e.Do(w, e.Request(row.url, http.Header{"Origin": {"https://example.com"}}))
			own := row.source != upstream
			if w.Code != row.code || o.Source != row.source && own || (e.Passed == nil) != own || (w.Header().Get(allow) != "") != own {
				t.Errorf("%s: %d, %+v, %v", row.url, w.Code, o, w.Header())
			}
		})
	}
}

// A lookup can start a store of the whole resource, so it must come after the review of the read.
func TestResourceIsLookedUpOnlyForAnAuthorizedRead(t *testing.T) {
	for _, tt := range []struct {
		url   string
		whole bool
	}{
		{servetest.FooList + "?resourceVersion=0", true},
		{servetest.FooList + "?watch=1&resourceVersion=9", true},
		{servetest.FooList + "?resourceVersion=0&labelSelector=even%3Dtrue", false},
		{servetest.FooList + "?resourceVersion=0&fieldSelector=metadata.name%3Da", false},
		{"/apis/ex.io/v1/namespaces/ns/foos?resourceVersion=0", false},
		{"/apis/ex.io/v1/namespaces/ns/foos/f000001?resourceVersion=0", false},
	} {
		e := newEnv(t, servetest.Foos(3), Options{})
		e.Missing, e.Access.Allowed = "not-in-sync", false
		e.Do(httptest.NewRecorder(), e.Request(tt.url, nil))
		if len(e.Readers) != 0 {
			t.Errorf("%s: looked up for a read that is denied", tt.url)
		}
		e.Access.Allowed = true
		e.Do(httptest.NewRecorder(), e.Request(tt.url, nil))
		readers := slices.Compact(e.Readers) // it asks again when it has waited
		if want := (resources.Reader{User: "jane", Whole: tt.whole}); len(readers) != 1 || readers[0] != want {
			t.Errorf("%s: looked up for %+v, want %+v", tt.url, readers, want)
		}
	}
}
