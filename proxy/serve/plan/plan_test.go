package plan

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/codec/negotiate"
	"sluice/proxy/discovery"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/outcome"
	"sluice/test/support/servetest"
)

// describe returns the plan of a request in words, or the error for which there is none.
func describe(p *Plan, err error) string {
	if err != nil {
		return err.Error()
	}
	var s strings.Builder
	s.WriteString(map[negotiate.Verb]string{negotiate.Get: "get", negotiate.List: "list", negotiate.Watch: "watch"}[p.Verb])
	switch p.Match {
	case MatchAny:
		s.WriteString(" any")
	case MatchMostRecent:
		s.WriteString(" most recent")
	case MatchNotOlderThan:
		fmt.Fprint(&s, " not older than ", p.Version)
	case MatchExact:
		fmt.Fprint(&s, " exact ", p.Version)
	}
	if p.InitialEvents {
		s.WriteString(" with initial events")
	}
	if p.PageStart != "" {
		fmt.Fprintf(&s, " from %q", p.PageStart)
	}
	if p.Options.Limit > 0 {
		fmt.Fprint(&s, " limit ", p.Options.Limit)
	}
	return s.String()
}

// planned returns the plan of a request.
func planned(e *servetest.Env, o Options, r *http.Request) (*Plan, error) {
	o.Resources, o.Access = e, e.Access
	p, err := o.Parse(r, request.From(r.Context()))
	if err != nil {
		return nil, err
	}
	if err := o.Authorize(r, p); err != nil {
		return nil, err
	}
	return p, o.Resolve(r, p, time.Time{})
}

// The token of such a list is relative to another prefix at the apiserver.
func TestPagesOfASelectedNameOrNamespacePass(t *testing.T) {
	c := servetest.Foos(3)
	c.Description.Fields = discovery.BuiltinFields("v1", "Pod", nil)
	e := servetest.New(t, c)
	for query, want := range map[string]string{
		"/apis/ex.io/v1/foos?fieldSelector=metadata.namespace%3Dns":                                                     "list most recent",
		"/apis/ex.io/v1/foos?fieldSelector=metadata.namespace%3Dns&limit=1":                                             "options",
		"/apis/ex.io/v1/namespaces/ns/foos?fieldSelector=metadata.name%3Dx&limit=1":                                     "options",
		"/apis/ex.io/v1/namespaces/ns/foos?fieldSelector=metadata.name%3Dx&continue=" + servetest.Token(t, 3, "/x\x00"): "options",
		"/apis/ex.io/v1/namespaces/ns/foos?fieldSelector=status.phase%3DRunning&limit=1":                                "list most recent limit 1",
	} {
		if got := describe(planned(e, Options{}, e.Request(query, nil))); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
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
	e := servetest.New(t, servetest.Foos(3))
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
		{one, "get most recent"},
		{one + "?resourceVersion=", "get most recent"},
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
		{all + "?shardSelector=", "list most recent"},
		{all + "?shardSelector=x", "options"},
		{one + "?shardSelector=x", "get most recent"},
		{all + "?labelSelector=a%3D%3D%3Db", "options"},
		{all + "?labelSelector=a+in+(b,c)", "list most recent"},
		{all + "?fieldSelector=x", "options"},

		// Pages (wire.md 5).
		{all + "?continue=" + servetest.Token(t, 3, "/ns/f000001\x00"), `list exact 3 from "ns/f000001\x00"`},
		{all + "?continue=" + servetest.Token(t, 3, "ns/f000001\x00"), `list exact 3 from "ns/f000001\x00"`},
		{ns + "?continue=" + servetest.Token(t, 3, "/f000001\x00"), `list exact 3 from "ns/f000001\x00"`},
		{ns + "?limit=2&continue=" + servetest.Token(t, 3, "/f000001\x00"), `list exact 3 from "ns/f000001\x00" limit 2`},
		{all + "?resourceVersion=0&limit=2&continue=" + servetest.Token(t, 3, "/ns/f000001\x00"), `list exact 3 from "ns/f000001\x00"`},
		{all + "?resourceVersion=3&continue=" + servetest.Token(t, 3, "/ns/f000001\x00"), "options"},
		{all + "?resourceVersion=3&resourceVersionMatch=Exact&continue=" + servetest.Token(t, 3, "/ns/f000001\x00"), "options"},
		{all + "?resourceVersion=0&resourceVersionMatch=NotOlderThan&continue=" + servetest.Token(t, 3, "/ns/f000001\x00"), "options"},
		{all + "?continue=" + servetest.Token(t, -1, "/ns/f000001\x00"), "options"}, // continue at the most recent version
		{all + "?continue=" + servetest.Token(t, 3, "/../f000001\x00"), "options"},
		{all + "?continue=x", "options"},

		// Watches (wire.md 7).
		{watch, "watch most recent with initial events"},
		{all + "?watch=0", "list most recent"},
		{watch + "resourceVersion=0", "watch any with initial events"},
		{watch + "resourceVersion=5", "watch exact 5"},
		{watch + "resourceVersion=05", "options"},
		{watch + "timeoutSeconds=-1", "options"},
		{"/apis/ex.io/%ff/foos", "not-a-read"},
		{watch + "continue=x", "options"},
		{watch + "resourceVersionMatch=NotOlderThan", "options"},
		{watch + "sendInitialEvents=true", "options"},
		{watch + "sendInitialEvents=true&resourceVersionMatch=Exact", "options"},
		{watch + servetest.Streaming, "watch most recent with initial events"},
		{watch + servetest.Streaming + "&resourceVersion=0", "watch any with initial events"},
		{watch + servetest.Streaming + "&resourceVersion=5", "watch not older than 5 with initial events"},
		{watch + "sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "watch most recent"},
		{watch + "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0", "watch any"},
		{watch + "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=5", "watch exact 5"},
		{watch + "limit=2", "watch most recent with initial events"},

		// Deprecated paths (wire.md 7.8).
		{"/apis/ex.io/v1/watch/foos", "watch most recent with initial events"},
		{"/apis/ex.io/v1/watch/namespaces/ns/foos?resourceVersion=5", "watch exact 5"},
		{"/apis/ex.io/v1/watch/foos/f000000", "wrong-scope"}, // an object has a namespace
		{"/apis/ex.io/v1/watch/foos?watch=1", "options"},
		{"/apis/ex.io/v1/watch/foos?" + servetest.Streaming, "options"},
		{"/apis/ex.io/v1/watch/foos?timeoutSeconds=-1", "options"},
		{"/apis/ex.io/v1/watch/namespaces/ns/foos/f000000?fieldSelector=metadata.name%3Dx", "options"},

		// Scopes.
		{all + "/f000000?resourceVersion=0", "wrong-scope"},
	} {
		r := e.Request(row.url, nil)
		if got := describe(planned(e, Options{}, r)); got != row.want {
			t.Errorf("%s: %s, want %s", row.url, got, row.want)
		}
	}
}

func TestPlanFollowsTheCaller(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*servetest.Env, *http.Request, *request.Info)
		want   string
	}{
		{"nothing", func(*servetest.Env, *http.Request, *request.Info) {}, "list any"},
		{"unauthenticated", func(_ *servetest.Env, _ *http.Request, i *request.Info) { i.User = "" }, "unknown-caller"},
		{"unreviewed", func(_ *servetest.Env, _ *http.Request, i *request.Info) {
			i.User, i.ReviewAgain = "", func(context.Context) bool { return false }
		}, "not-reviewed"},
		{"impersonation by token", func(_ *servetest.Env, _ *http.Request, i *request.Info) { i.Impersonates = true }, "list any"},
		{"impersonation by certificate", func(_ *servetest.Env, _ *http.Request, i *request.Info) {
			i.Impersonates, i.Caller = true, request.ClientCert
		}, "list any"},
		{"access denied", func(e *servetest.Env, _ *http.Request, _ *request.Info) { e.Access.Allowed = false }, "not-allowed"},
		{"access is not known", func(e *servetest.Env, _ *http.Request, _ *request.Info) { e.Access.Failed = servetest.ErrUnreachable }, "not-reviewed"},
		{"an origin", func(_ *servetest.Env, r *http.Request, _ *request.Info) { r.Header.Set("Origin", "null") }, "origin"},
		{"not in sync", func(e *servetest.Env, _ *http.Request, _ *request.Info) { e.Missing = resources.NotInSync }, resources.NotInSync},
		{"an excluded resource, without a review", func(e *servetest.Env, _ *http.Request, _ *request.Info) {
			e.Missing, e.Access.Failed = resources.Excluded, servetest.ErrUnreachable
		}, resources.Excluded},
		{"HEAD", func(_ *servetest.Env, r *http.Request, _ *request.Info) { r.Method = http.MethodHead }, "not-a-read"},
		{"POST", func(_ *servetest.Env, r *http.Request, _ *request.Info) { r.Method = http.MethodPost }, "not-a-read"},
		{"upgrade", func(_ *servetest.Env, _ *http.Request, i *request.Info) { i.Upgrade = true }, "not-a-read"},
		{"cluster-scoped", func(e *servetest.Env, _ *http.Request, _ *request.Info) {
			e.Resource.Resource.Namespaced = false
		}, "list any"},
		{"namespace of a cluster-scoped resource", func(e *servetest.Env, _ *http.Request, i *request.Info) {
			e.Resource.Resource.Namespaced, i.Namespace = false, "ns"
		}, "not-a-read"}, // its path is not canonical then
	} {
		t.Run(row.name, func(t *testing.T) {
			e := servetest.New(t, servetest.Foos(3))
			r := e.Request("/apis/ex.io/v1/foos?resourceVersion=0", nil)
			info := request.From(r.Context())
			row.change(e, r, info)
			if got := describe(planned(e, Options{}, r)); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}

// Features of the apiserver need no feature of the configuration.
func TestPlanFollowsTheFormatAndTheFeatures(t *testing.T) {
	const (
		list  = "/apis/ex.io/v1/foos?resourceVersion=0"
		watch = list + "&watch=1"
		names = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		shard = "&shardSelector=shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')"
		ends  = "&resourceVersionMatch=NotOlderThan&sendInitialEvents="
	)
	strict, forced := Options{Strict: true}, Options{Features: Features{ShardSelector: true}}
	plain := func() *resources.CachedResource { return servetest.Foos(3) }
	tables := func() *resources.CachedResource { return servetest.Tables(t, 3) } // the columns are known
	streams := func() *resources.CachedResource {
		c := servetest.Foos(3)
		c.StreamingLists = true
		return c
	}
	shards := func() *resources.CachedResource {
		c := servetest.Foos(3)
		c.SelectsShards = true
		return c
	}
	for _, row := range []struct {
		url, accept string
		options     Options
		resource    func() *resources.CachedResource
		want        string
	}{
		{list, "", Options{}, plain, "list any"},
		{list, "application/json", Options{}, plain, "list any"},
		{list, "application/yaml", Options{}, plain, "list any"},
		{watch, "application/yaml", Options{}, plain, "format"},
		{list, "application/vnd.kubernetes.protobuf", Options{}, plain, "format"}, // of a custom resource
		{list, "text/html", Options{}, plain, "format"},
		{list, "application/cbor", Options{}, plain, "list any"},
		{list, "application/cbor", strict, plain, "format"},
		{list, "application/cbor, application/json", strict, plain, "format"},
		{watch, "application/cbor", Options{}, plain, "watch any with initial events"},
		{list, names, Options{}, plain, "list any"},
		{list, names, strict, plain, "format"},
		{watch, names, strict, plain, "watch any with initial events"},
		{list, servetest.AsTable, Options{}, tables, "list any"},
		{list, servetest.AsTable, Options{}, plain, "columns"},
		{list, servetest.AsTable + ",application/json", Options{}, tables, "list any"},

		// Strict passes streaming lists that the apiserver refuses.
		{watch + ends + "true", "", Options{}, plain, "watch any with initial events"},
		{watch + ends + "true", "", strict, streams, "watch any with initial events"},
		{watch + ends + "true", "", strict, plain, "options"},
		{watch + ends + "false", "", strict, plain, "options"},
		{watch, "", strict, plain, "watch any with initial events"},

		{list + shard, "", Options{}, plain, "options"},
		{list + shard, "", Options{}, shards, "list any"},
		{list + shard, "", forced, plain, "list any"},
		{watch + shard, "", Options{}, plain, "options"},
		{watch + shard, "", Options{}, shards, "watch any with initial events"},
	} {
		e := servetest.New(t, row.resource())
		r := e.Request(row.url, http.Header{"Accept": {row.accept}})
		if got := describe(planned(e, row.options, r)); got != row.want {
			t.Errorf("%s as %q with %+v: %s, want %s", row.url, row.accept, row.options, got, row.want)
		}
	}
}

func TestProjectionsAreServedOrRefused(t *testing.T) {
	e := servetest.New(t, servetest.Foos(3))
	for _, row := range []struct {
		accept string
		strict bool
		want   string
	}{
		{"application/json;keep=spec.a", false, "keep=spec.a"},
		{"application/json;drop=metadata.managedFields", false, "drop=metadata.managedFields"},
		{"application/json;drop=metadata.managedFields", true, "format"},
		{"application/json;keep=spec", true, ""},
		{"application/json;keep=spec[", false, `406 Sluice: objects have no such projection: path "spec[": write [*] or [key]; correct keep or drop in the Accept header`},
		{"application/json;keep=spec[,application/json", false, ""},
	} {
		p, err := planned(e, Options{Strict: row.strict}, e.Request("/apis/ex.io/v1/foos?resourceVersion=0", http.Header{"Accept": {row.accept}}))
		got := ""
		if refused, ok := errors.AsType[*outcome.Refused](err); ok {
			status := refused.Err.(apierrors.APIStatus).Status()
			got = fmt.Sprint(status.Code, " ", status.Message)
		} else if err != nil {
			got = err.Error()
		} else {
			got = string(p.Format.Format().Projection)
		}
		if got != row.want {
			t.Errorf("%s, strict %v: %s, want %s", row.accept, row.strict, got, row.want)
		}
	}
}

func TestPoliciesProjectReadsOfCallersThatDoNotWrite(t *testing.T) {
	for _, row := range []struct {
		accept, agent  string
		writes, strict bool
		want           string
	}{
		{accept: "application/json", agent: "old/2", want: "keep=spec.a true 1"},
		{accept: "application/json", agent: "new/2"},
		{accept: "application/json", agent: "old/2", writes: true},
		{accept: "application/json", agent: "old/2", strict: true},
		{accept: "application/json;keep=spec", agent: "old/2", want: "keep=spec false 0"},
		{accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", agent: "old/2"},
	} {
		e := servetest.New(t, servetest.Foos(3))
		e.Access.Writes = row.writes
		o := Options{Strict: row.strict, Projected: NewPolicyMetric(), Policies: []Policy{
			{Resource: schema.GroupResource{Group: "other", Resource: "foos"}, Projection: "keep=spec.b"},
			{Resource: schema.GroupResource{Group: "ex.io", Resource: "foos"}, Projection: "keep=spec.a", Quiet: true,
				Caller: func(_ string, _ []string, agent string) bool { return agent == "old/2" }},
		}}
		r := e.Request("/apis/ex.io/v1/foos?watch=1&resourceVersion=0", http.Header{"Accept": {row.accept}, "User-Agent": {row.agent}})
		request.From(r.Context()).Acting = &user.DefaultInfo{Name: "someone"}
		p, err := planned(e, o, r)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if f := p.Format.Format(); f.Projection != "" {
			projected := testutil.ToFloat64(o.Projected.WithLabelValues("ex.io", "foos", policyApplied))
			got = fmt.Sprintf("%s %v %v", f.Projection, f.Quiet, projected)
		}
		if got != row.want || p.Read.Unwritten != (row.want == "keep=spec.a true 1") {
			t.Errorf("%+v: %s, rechecked %v", row, got, p.Read.Unwritten)
		}
	}
}
