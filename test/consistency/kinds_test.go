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
	name   string
	custom bool // for custom resources only
	read   func(r *reader, ctx context.Context, name string) error
}

// kinds are the kinds of reads. Repeated kinds are chosen more often.
var kinds = []kind{
	{"whole", false, listed(whole, mostRecent)},
	{"whole", false, listed(whole, mostRecent)},
	{"whole", false, listed(whole, mostRecent)},
	{"namespace", false, listed(inNamespace, mostRecent)},
	{"label", false, listed(byLabel, mostRecent)},
	{"name", false, listed(byName, mostRecent)},
	{"field", true, listed(byField, mostRecent)},
	{"paged", false, paged(whole, mostRecent, false)},
	{"paged", false, paged(inNamespace, mostRecent, false)},
	{"paged, selected", false, paged(byLabel, mostRecent, false)},
	{"paged, two servers", false, paged(whole, mostRecent, true)},
	{"paged, two servers", false, paged(inNamespace, mostRecent, true)},
	{"paged, exact", false, paged(whole, exact, false)},
	{"paged, exact, two servers", false, paged(inNamespace, exact, true)},
	{"paged, at a version", false, paged(whole, atVersion, false)},
	{"any", false, listed(whole, anyState)},
	{"any, selected", false, listed(byLabel, anyState)},
	{"not older", false, listed(whole, newest)},
	{"not older, namespace", false, listed(inNamespace, newest)},
	{"exact", false, listed(whole, exact)},
	{"exact, selected", false, listed(byLabel, exact)},
	{"stream", false, streamed(whole, mostRecent)},
	{"stream", false, streamed(whole, mostRecent)},
	{"stream, namespace", false, streamed(inNamespace, mostRecent)},
	{"stream, selected", false, streamed(byLabel, mostRecent)},
	{"stream, any", false, streamed(whole, anyState)},
	{"stream, not older", false, streamed(whole, newest)},
	{"get", false, gotten(1, mostRecent)},
	{"get, several", false, gotten(8, mostRecent)},
	{"get, any", false, gotten(1, anyState)},
	{"get, not older", false, gotten(1, newest)},
	{"watch, without version", false, begun((*reader).namespacePath)},
	{"watch, legacy path", false, begun((*reader).legacyPath)},
}

// kindsOf returns the kinds with the names, all without a name.
func kindsOf(names []string) []kind {
	if names == nil {
		return kinds
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !slices.Contains(names, k.name) })
}

// scope chooses a scope.
type scope func(r *reader) history.Scope

// visible returns the part of a scope that the reader may read.
func (r *reader) visible(s history.Scope) history.Scope {
	if s.Namespace == "" {
		s.Namespaces = r.some
	}
	return s
}

func whole(*reader) history.Scope         { return history.Scope{} }
func inNamespace(r *reader) history.Scope { return history.Scope{Namespace: r.namespace()} }

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

func listed(s scope, c consistency) func(*reader, context.Context, string) error {
	return func(r *reader, ctx context.Context, name string) error {
		scope := r.visible(s(r))
		q := query(scope)
		return r.list(ctx, name, scope, c(r, q), q)
	}
}

func paged(s scope, c consistency, both bool) func(*reader, context.Context, string) error {
	return func(r *reader, ctx context.Context, name string) error {
		scope := r.visible(s(r))
		q := query(scope)
		return r.pages(ctx, name, scope, c(r, q), q, func() *server {
			if both && r.rnd.IntN(2) == 0 {
				return r.apiserver
			}
			return r.sluice
		})
	}
}

func streamed(s scope, c consistency) func(*reader, context.Context, string) error {
	return func(r *reader, ctx context.Context, name string) error {
		scope := r.visible(s(r))
		q := query(scope)
		return r.stream(ctx, name, scope, c(r, q), q)
	}
}

// gotten sends n gets at the same time.
func gotten(n int, c consistency) func(*reader, context.Context, string) error {
	return func(r *reader, ctx context.Context, name string) error {
		q := url.Values{}
		p := c(r, q)
		q.Del("resourceVersionMatch") // a get does not accept it
		return r.get(ctx, name, n, p, q)
	}
}

// begun reads the beginning of a watch without a version.
func begun(path func(*reader) string) func(*reader, context.Context, string) error {
	return func(r *reader, ctx context.Context, name string) error { return r.begin(ctx, name, path(r)) }
}
