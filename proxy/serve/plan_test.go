package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/storage"

	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/servetest"
)

// describe returns the plan of a request in words, or the error for which there is none.
func describe(p *plan, err error) string {
	if err != nil {
		return err.Error()
	}
	var s strings.Builder
	s.WriteString(map[negotiate.Verb]string{negotiate.Get: "get", negotiate.List: "list", negotiate.Watch: "watch"}[p.verb])
	switch p.match {
	case matchAny:
		s.WriteString(" any")
	case matchMostRecent:
		s.WriteString(" most recent")
	case matchNotOlderThan:
		fmt.Fprint(&s, " not older than ", p.version)
	case matchExact:
		fmt.Fprint(&s, " exact ", p.version)
	}
	if p.initialEvents {
		s.WriteString(" with initial events")
	}
	if p.pageStart != "" {
		fmt.Fprintf(&s, " from %q", p.pageStart)
	}
	if p.options.Limit > 0 {
		fmt.Fprint(&s, " limit ", p.options.Limit)
	}
	return s.String()
}

// token returns a continue token of the apiserver.
func token(t *testing.T, version int64, start string) string {
	t.Helper()
	text, err := storage.EncodeContinue("/registry"+start, "/registry", version)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The apiserver adds headers to its response if it allows the origin.
func TestRequestsOfOtherOriginsPass(t *testing.T) {
	e := newEnv(t, servetest.Foos(3), Options{})
	for _, url := range []string{oneFoo, "/apis/ex.io/v1/foos?resourceVersion=0", "/apis/ex.io/v1/foos?watch=1&resourceVersion=3"} {
		outcome := e.Do(httptest.NewRecorder(), e.Request(url, http.Header{"Origin": {"https://example.com"}}))
		if e.Passed == nil || outcome.Reason != "cross-origin" {
			t.Errorf("%s: %+v", url, outcome)
		}
	}
}

func TestPlanFollowsTheQuery(t *testing.T) {
	const (
		all   = "/apis/ex.io/v1/foos"
		ns    = "/apis/ex.io/v1/namespaces/ns/foos"
		one   = ns + "/f000000"
		watch = all + "?watch=1&"
	)
	e := newEnv(t, servetest.Foos(3), Options{})
	for _, row := range []struct{ url, want string }{
		// Requests that are no reads of a resource.
		{"/version", "not-a-read"},
		{"/apis/ex.io/v1", "not-a-read"},
		{one + "/status?resourceVersion=0", "not-a-read"},
		{all + "/?resourceVersion=0", "not-a-read"},
		{"/apis//ex.io/v1/foos?resourceVersion=0", "not-a-read"},
		{one + "?watch=1&resourceVersion=0", "get any"}, // watch is no parameter of a get
		{"/apis/ex.io/v1/proxy/foos", "not-a-read"},

		// Gets (wire.md 6).
		{one, "get-latest"},
		{one + "?resourceVersion=", "get-latest"},
		{one + "?resourceVersion=0", "get any"},
		{one + "?resourceVersion=2", "get not older than 2"},
		{one + "?resourceVersion=2&resourceVersionMatch=Exact", "get not older than 2"},
		{one + "?resourceVersion=2&limit=1&continue=x", "get not older than 2 limit 1"},
		{one + "?resourceVersion=00", "options"},
		{one + "?resourceVersion=02", "options"},
		{one + "?resourceVersion=-1", "options"},
		{one + "?resourceVersion=x", "options"},
		{one + "?resourceVersion=18446744073709551616", "options"},
		{one + "?resourceVersion=0&export=true", "options"},
		{ns + "/%2e%2e?resourceVersion=0", "options"},
		{ns + "/a%25b?resourceVersion=0", "options"},

		// Lists (wire.md 4).
		{all, "list most recent"},
		{ns, "list most recent"},
		{all + "?resourceVersion=", "list most recent"},
		{all + "?resourceVersion=0", "list any"},
		{all + "?resourceVersion=5", "list not older than 5"},
		{all + "?resourceVersion=5&resourceVersionMatch=NotOlderThan", "list not older than 5"},
		{all + "?resourceVersion=0&resourceVersionMatch=NotOlderThan", "list any"},
		{all + "?resourceVersion=5&resourceVersionMatch=Exact", "list exact 5"},
		{all + "?resourceVersion=0&resourceVersionMatch=Exact", "options"},
		{all + "?resourceVersionMatch=Exact", "options"},
		{all + "?resourceVersionMatch=NotOlderThan", "options"},
		{all + "?resourceVersion=5&resourceVersionMatch=exact", "options"},
		{all + "?resourceVersion=05", "options"},
		{all + "?sendInitialEvents=true", "options"},
		{all + "?sendInitialEvents=false", "options"},
		{all + "?timeoutSeconds=x", "options"},
		{all + "?limit=x", "options"},
		{all + "?limit=2", "list most recent limit 2"},
		{all + "?limit=-2", "list most recent"},
		{all + "?limit=2&resourceVersion=0", "list any"},
		{all + "?limit=2&resourceVersion=5", "list exact 5 limit 2"},
		{all + "?limit=-2&resourceVersion=5", "list not older than 5"},
		{all + "?limit=2&resourceVersion=5&resourceVersionMatch=NotOlderThan", "list not older than 5 limit 2"},
		{all + "?shardSelector=", "options"},
		{all + "?labelSelector=a%3D%3D%3Db", "options"},
		{all + "?labelSelector=a+in+(b,c)", "list most recent"},
		{all + "?fieldSelector=x", "options"},

		// Pages (wire.md 5).
		{all + "?continue=" + token(t, 3, "/ns/f000001\x00"), `list exact 3 from "ns/f000001\x00"`},
		{all + "?continue=" + token(t, 3, "ns/f000001\x00"), `list exact 3 from "ns/f000001\x00"`},
		{ns + "?continue=" + token(t, 3, "/f000001\x00"), `list exact 3 from "ns/f000001\x00"`},
		{ns + "?limit=2&continue=" + token(t, 3, "/f000001\x00"), `list exact 3 from "ns/f000001\x00" limit 2`},
		{all + "?resourceVersion=0&limit=2&continue=" + token(t, 3, "/ns/f000001\x00"), `list exact 3 from "ns/f000001\x00"`},
		{all + "?resourceVersion=3&continue=" + token(t, 3, "/ns/f000001\x00"), "options"},
		{all + "?resourceVersion=3&resourceVersionMatch=Exact&continue=" + token(t, 3, "/ns/f000001\x00"), "options"},
		{all + "?resourceVersion=0&resourceVersionMatch=NotOlderThan&continue=" + token(t, 3, "/ns/f000001\x00"), "options"},
		{all + "?continue=" + token(t, -1, "/ns/f000001\x00"), "options"}, // continue at the most recent version
		{all + "?continue=" + token(t, 3, "/../f000001\x00"), "options"},
		{all + "?continue=x", "options"},

		// Watches (wire.md 7).
		{watch, "watch most recent with initial events"},
		{all + "?watch=0", "list most recent"},
		{watch + "resourceVersion=0", "watch any with initial events"},
		{watch + "resourceVersion=5", "watch exact 5"},
		{watch + "resourceVersion=05", "options"},
		{watch + "timeoutSeconds=-1", "options"},
		{watch + "continue=x", "options"},
		{watch + "resourceVersionMatch=NotOlderThan", "options"},
		{watch + "sendInitialEvents=true", "options"},
		{watch + "sendInitialEvents=true&resourceVersionMatch=Exact", "options"},
		{watch + streaming, "watch most recent with initial events"},
		{watch + streaming + "&resourceVersion=0", "watch any with initial events"},
		{watch + streaming + "&resourceVersion=5", "watch not older than 5 with initial events"},
		{watch + "sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "watch most recent"},
		{watch + "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0", "watch any"},
		{watch + "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=5", "watch exact 5"},
		{watch + "limit=2", "watch most recent with initial events limit 2"},

		// Deprecated paths (wire.md 7.8).
		{"/apis/ex.io/v1/watch/foos", "watch most recent with initial events"},
		{"/apis/ex.io/v1/watch/namespaces/ns/foos?resourceVersion=5", "watch exact 5"},
		{"/apis/ex.io/v1/watch/foos/f000000", "wrong-scope"}, // an object has a namespace
		{"/apis/ex.io/v1/watch/foos?watch=1", "options"},
		{"/apis/ex.io/v1/watch/foos?" + streaming, "options"},
		{"/apis/ex.io/v1/watch/foos?timeoutSeconds=-1", "options"},
		{"/apis/ex.io/v1/watch/namespaces/ns/foos/f000000?fieldSelector=metadata.name%3Dx", "options"},

		// Scopes.
		{all + "/f000000?resourceVersion=0", "wrong-scope"},
	} {
		r := e.Request(row.url, nil)
		if got := describe(e.handler.plan(r, request.From(r.Context()), e.handler.newAttempt())); got != row.want {
			t.Errorf("%s: %s, want %s", row.url, got, row.want)
		}
	}
}

func TestPlanFollowsTheCaller(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*env, *http.Request, *request.Info)
		want   string
	}{
		{"nothing", func(*env, *http.Request, *request.Info) {}, "list any"},
		{"unauthenticated", func(_ *env, _ *http.Request, i *request.Info) { i.User = "" }, "unknown-caller"},
		{"impersonation by token", func(_ *env, _ *http.Request, i *request.Info) { i.Impersonates = true }, "list any"},
		{"impersonation by certificate", func(_ *env, _ *http.Request, i *request.Info) {
			i.Impersonates, i.Caller = true, request.ClientCert
		}, "list any"},
		{"access denied", func(e *env, _ *http.Request, _ *request.Info) { e.Access.Allowed = false }, "not-allowed"},
		{"access is not known", func(e *env, _ *http.Request, _ *request.Info) { e.Access.Failed = servetest.ErrUnreachable }, "not-reviewed"},
		{"not in sync", func(e *env, _ *http.Request, _ *request.Info) { e.Missing = resources.NotInSync }, resources.NotInSync},
		{"HEAD", func(_ *env, r *http.Request, _ *request.Info) { r.Method = http.MethodHead }, "not-a-read"},
		{"POST", func(_ *env, r *http.Request, _ *request.Info) { r.Method = http.MethodPost }, "not-a-read"},
		{"upgrade", func(_ *env, _ *http.Request, i *request.Info) { i.Upgrade = true }, "not-a-read"},
		{"cluster-scoped", func(e *env, _ *http.Request, _ *request.Info) {
			e.Resource.Resource.Namespaced = false
		}, "list any"},
		{"namespace of a cluster-scoped resource", func(e *env, _ *http.Request, i *request.Info) {
			e.Resource.Resource.Namespaced, i.Namespace = false, "ns"
		}, "not-a-read"}, // its path is not canonical then
	} {
		t.Run(row.name, func(t *testing.T) {
			e := newEnv(t, servetest.Foos(3), Options{})
			r := e.Request("/apis/ex.io/v1/foos?resourceVersion=0", nil)
			info := request.From(r.Context())
			row.change(e, r, info)
			if got := describe(e.handler.plan(r, info, e.handler.newAttempt())); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}

func TestPlanFollowsTheFormat(t *testing.T) {
	const (
		list  = "/apis/ex.io/v1/foos?resourceVersion=0"
		watch = list + "&watch=1"
		names = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	)
	for _, row := range []struct {
		url, accept string
		strict      bool
		columns     bool // the columns of Tables are known
		want        string
	}{
		{list, "", false, false, "list any"},
		{list, "application/json", false, false, "list any"},
		{list, "application/yaml", false, false, "list any"},
		{watch, "application/yaml", false, false, "format"},
		{list, "application/vnd.kubernetes.protobuf", false, false, "format"}, // of a custom resource
		{list, "text/html", false, false, "format"},
		{list, "application/cbor", false, false, "list any"},
		{list, "application/cbor", true, false, "format"},
		{list, "application/cbor, application/json", true, false, "format"},
		{watch, "application/cbor", false, false, "watch any with initial events"},
		{list, names, false, false, "list any"},
		{list, names, true, false, "format"},
		{watch, names, true, false, "watch any with initial events"},
		{list, servetest.AsTable, false, true, "list any"},
		{list, servetest.AsTable, false, false, "format"},
		{list, servetest.AsTable + ",application/json", false, true, "list any"},
	} {
		c := servetest.Foos(3)
		if row.columns {
			c = servetest.Tables(t, 3)
		}
		e := newEnv(t, c, Options{Strict: row.strict})
		r := e.Request(row.url, http.Header{"Accept": {row.accept}})
		if got := describe(e.handler.plan(r, request.From(r.Context()), e.handler.newAttempt())); got != row.want {
			t.Errorf("%s as %q, strict %v: %s, want %s", row.url, row.accept, row.strict, got, row.want)
		}
	}
}

func TestStrictPassesStreamingListsThatTheAPIServerRefuses(t *testing.T) {
	const options = "&resourceVersion=0&resourceVersionMatch=NotOlderThan&sendInitialEvents="
	for _, row := range []struct {
		query           string
		strict, present bool
		want            string
	}{
		{options + "true", false, false, "watch any with initial events"},
		{options + "true", true, true, "watch any with initial events"},
		{options + "true", true, false, "options"},
		{options + "false", true, false, "options"},
		{"&resourceVersion=0", true, false, "watch any with initial events"},
	} {
		c := servetest.Foos(3)
		c.StreamingLists = row.present
		e := newEnv(t, c, Options{Strict: row.strict})
		r := e.Request("/apis/ex.io/v1/foos?watch=1"+row.query, nil)
		if got := describe(e.handler.plan(r, request.From(r.Context()), e.handler.newAttempt())); got != row.want {
			t.Errorf("%s, strict %v: %s, want %s", row.query, row.strict, got, row.want)
		}
	}
}

// A read of a shard that follows a list from here must not pass to an apiserver that may ignore the
// selector.
func TestShardsPassOnlyWhereTheResponseSaysWhatItIs(t *testing.T) {
	const path = "/apis/ex.io/v1/foos?shardSelector=" + halfOfUIDs
	for _, row := range []struct {
		query   string
		missing string // why the resource is not cached
		version uint64 // of the apiserver
		want    string
	}{
		{"", "", 3, "served"},
		{"", resources.NotInSync, 3, "passed"},
		{"&limit=1", resources.NotInSync, 3, "passed"},
		{"&resourceVersion=9", "", 3, "passed"},
		{"&continue=x", resources.NotInSync, 3, "passed"}, // of an invalid token the apiserver says so
		{"&continue=" + token(t, 3, "/ns/f000001\x00"), resources.NotInSync, 3, "429"},
		{"&continue=" + token(t, 9, "/ns/f000001\x00"), "", 3, "429"},
		{"&continue=" + token(t, 9, "/ns/f000001\x00"), "", 0, "429"},
		{"&continue=" + token(t, 1, "/ns/f000001\x00"), "", 3, "410"},
		{"&watch=1&resourceVersion=3", resources.NotInSync, 3, "429"},
		{"&watch=1&resourceVersion=3", "excluded", 3, "passed"},
	} {
		e := newEnv(t, servetest.Foos(3), Options{Features: Features{ShardSelector: true}})
		e.Missing = row.missing
		e.Apiserver.Set(row.version, 0)
		w := &servetest.WatchClient{}
		outcome := e.Do(w, e.Request(path+row.query, nil))
		got := fmt.Sprint(w.Code)
		switch {
		case e.Passed != nil:
			got = "passed"
		case outcome.Source == request.SourceCache:
			got = "served"
		}
		if got != row.want {
			t.Errorf("%s: %s, want %s (%+v)", row.query, got, row.want, outcome)
		}
	}
}

func TestInvalidShardSelectorIsRefusedHere(t *testing.T) {
	e := newEnv(t, servetest.Foos(3), Options{Features: Features{ShardSelector: true}})
	w := &servetest.WatchClient{}
	outcome := e.Do(w, e.Request("/apis/ex.io/v1/foos?shardSelector=x", nil))
	if e.Passed != nil || w.Code != http.StatusInternalServerError || outcome != (request.Outcome{Source: request.SourceGateway}) {
		t.Errorf("code %d, outcome %+v", w.Code, outcome)
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
