package consistency

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"sluice/test/consistency/history"
)

// kind is one kind of read.
type kind struct {
	name        string
	scope       scope
	consistency consistency
	read        func(r *reader, ctx context.Context, kind string, s history.Scope, c history.Consistency, q url.Values) error
}

// kinds are the kinds of reads. Repeated kinds are chosen more often.
var kinds = []kind{
	{"whole", whole, mostRecent, (*reader).whole},
	{"whole", whole, mostRecent, (*reader).whole},
	{"whole", whole, mostRecent, (*reader).whole},
	{"namespace", inNamespace, mostRecent, (*reader).whole},
	{"label", byLabel, mostRecent, (*reader).whole},
	{"name", byName, mostRecent, (*reader).whole},
	{byFieldOnly, byField, mostRecent, (*reader).whole},
	{"paged", whole, mostRecent, (*reader).pages},
	{"paged", inNamespace, mostRecent, (*reader).pages},
	{"paged, selected", byLabel, mostRecent, (*reader).pages},
	{"paged, two servers", whole, mostRecent, (*reader).pages},
	{"paged, two servers", inNamespace, mostRecent, (*reader).pages},
	{"paged, exact", whole, exact, (*reader).pages},
	{"paged, exact, two servers", inNamespace, exact, (*reader).pages},
	{"paged, at a version", whole, atVersion, (*reader).pages},
	{"any", whole, anyState, (*reader).whole},
	{"any, selected", byLabel, anyState, (*reader).whole},
	{"not older", whole, newest, (*reader).whole},
	{"not older, namespace", inNamespace, newest, (*reader).whole},
	{"exact", whole, exact, (*reader).whole},
	{"exact, selected", byLabel, exact, (*reader).whole},
	{"stream", whole, mostRecent, (*reader).stream},
	{"stream", whole, mostRecent, (*reader).stream},
	{"stream, namespace", inNamespace, mostRecent, (*reader).stream},
	{"stream, selected", byLabel, mostRecent, (*reader).stream},
	{"stream, any", whole, anyState, (*reader).stream},
	{"stream, not older", whole, newest, (*reader).stream},
	{"get", whole, mostRecent, (*reader).get},
	{getSeveral, whole, mostRecent, (*reader).get},
	{"get, any", whole, anyState, (*reader).get},
	{"get, not older", whole, newest, (*reader).get},
	{"watch, without version", inChangingNamespace, mostRecent, (*reader).begin},
	{legacyWatch, inChangingNamespace, mostRecent, (*reader).begin},
}

// Kinds of reads that differ from others in more than their scope and consistency.
const (
	byFieldOnly = "field" // of custom resources
	getSeveral  = "get, several"
	legacyWatch = "watch, legacy path"
	twoServers  = ", two servers" // the end of the names of such kinds
)

// kindsOf returns the kinds with the names, all without a name.
func kindsOf(names []string) []kind {
	if names == nil {
		return kinds
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !slices.Contains(names, k.name) })
}

// scope chooses a scope.
type scope func(r *reader) history.Scope

func whole(*reader) history.Scope                 { return history.Scope{} }
func inNamespace(r *reader) history.Scope         { return history.Scope{Namespace: r.namespace()} }
func inChangingNamespace(r *reader) history.Scope { return history.Scope{Namespace: r.namespaces[0]} }

// labelSelectors have every operator.
var labelSelectors = []string{"color=red", "color in (green,blue)", "color!=red", "!color", "color", "color notin (blue)", "color=red,color=blue"}

func byLabel(r *reader) history.Scope {
	s := history.Scope{Labels: labelSelectors[r.rnd.IntN(len(labelSelectors))]}
	if r.rnd.IntN(2) == 0 {
		s.Namespace = r.namespace()
	}
	return s
}

func byName(r *reader) history.Scope {
	s := history.Scope{Fields: "metadata.name=" + r.object()}
	if r.rnd.IntN(2) == 0 {
		s.Namespace = r.namespace()
	}
	return s
}

func byField(r *reader) history.Scope {
	return history.Scope{Fields: "spec.color=" + colors[r.rnd.IntN(len(colors))]}
}

// consistency chooses the consistency of a read, and adds its parameters to the query.
type consistency func(r *reader, q url.Values) history.Consistency

func mostRecent(*reader, url.Values) history.Consistency {
	return history.Consistency{MostRecent: true}
}

func anyState(_ *reader, q url.Values) history.Consistency {
	q.Set("resourceVersion", "0")
	return history.Consistency{}
}

// newest asks for the newest acknowledged version, as a client that reads its own writes.
func newest(r *reader, q url.Values) history.Consistency {
	return withVersion(q, history.Consistency{NotOlderThan: r.rec.newestVersion()})
}

func exact(r *reader, q url.Values) history.Consistency {
	return withVersion(q, history.Consistency{Exact: r.rec.someVersion(r.rnd)})
}

// atVersion asks for an exact version as clients did before resourceVersionMatch: by a version and
// a limit.
func atVersion(r *reader, q url.Values) history.Consistency {
	p := exact(r, q)
	q.Del("resourceVersionMatch")
	return p
}

// withVersion adds a consistency to the query. While no version is known, it asks for the most
// recent state.
func withVersion(q url.Values, c history.Consistency) history.Consistency {
	switch {
	case c.NotOlderThan > 0:
		q.Set("resourceVersion", strconv.FormatUint(c.NotOlderThan, 10))
		q.Set("resourceVersionMatch", "NotOlderThan")
	case c.Exact > 0:
		q.Set("resourceVersion", strconv.FormatUint(c.Exact, 10))
		q.Set("resourceVersionMatch", "Exact")
	default:
		return history.Consistency{MostRecent: true}
	}
	return c
}
