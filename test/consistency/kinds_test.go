package consistency

import (
	"context"
	"net/url"
	"strconv"

	"sluice/test/consistency/history"
)

// kind is a way to read.
type kind struct {
	name   string
	custom bool // only custom resources can be read so
	read   func(r *reader, ctx context.Context, name string) error
}

// kinds are all ways to read. Those that are named twice are asked for more
// often.
var kinds = []kind{
	{"whole", false, listed(whole, latest)},
	{"whole", false, listed(whole, latest)},
	{"whole", false, listed(whole, latest)},
	{"namespace", false, listed(inNamespace, latest)},
	{"label", false, listed(byLabel, latest)},
	{"name", false, listed(byName, latest)},
	{"field", true, listed(byField, latest)},
	{"paged", false, paged(whole, latest, false)},
	{"paged", false, paged(inNamespace, latest, false)},
	{"paged, selected", false, paged(byLabel, latest, false)},
	{"paged, two servers", false, paged(whole, latest, true)},
	{"paged, two servers", false, paged(inNamespace, latest, true)},
	{"paged, exact", false, paged(whole, exact, false)},
	{"paged, exact, two servers", false, paged(inNamespace, exact, true)},
	{"paged, at a version", false, paged(whole, atVersion, false)},
	{"any", false, listed(whole, anyState)},
	{"any, selected", false, listed(byLabel, anyState)},
	{"not older", false, listed(whole, newest)},
	{"not older, namespace", false, listed(inNamespace, newest)},
	{"exact", false, listed(whole, exact)},
	{"exact, selected", false, listed(byLabel, exact)},
	{"stream", false, streamed(whole, latest)},
	{"stream", false, streamed(whole, latest)},
	{"stream, namespace", false, streamed(inNamespace, latest)},
	{"stream, selected", false, streamed(byLabel, latest)},
	{"stream, any", false, streamed(whole, anyState)},
	{"stream, not older", false, streamed(whole, newest)},
	{"get", false, gotten(latest)},
	{"get, any", false, gotten(anyState)},
	{"get, not older", false, gotten(newest)},
}

// scope chooses a part of the resource.
type scope func(r *reader) history.Scope

func whole(*reader) history.Scope         { return history.Scope{} }
func inNamespace(r *reader) history.Scope { return history.Scope{Namespace: r.namespace()} }

// labelSelectors are of every form.
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

// wish chooses what is asked of the version, and adds it to the query.
type wish func(r *reader, q url.Values) history.Promise

func latest(*reader, url.Values) history.Promise { return history.Promise{Fresh: true} }

func anyState(_ *reader, q url.Values) history.Promise {
	q.Set("resourceVersion", "0")
	return history.Promise{}
}

// newest asks for what was just acknowledged, so that a client reads its own
// writes.
func newest(r *reader, q url.Values) history.Promise {
	return asked(q, history.Promise{AtLeast: r.rec.newestVersion()})
}

func exact(r *reader, q url.Values) history.Promise {
	return asked(q, history.Promise{Exact: r.rec.someVersion(r.rnd)})
}

// atVersion asks for an exact version as clients did before there were words
// for it: by a version and a limit.
func atVersion(r *reader, q url.Values) history.Promise {
	p := exact(r, q)
	q.Del("resourceVersionMatch")
	return p
}

// asked adds a promise to the query. Before there is any version, it is of the
// most recent state.
func asked(q url.Values, p history.Promise) history.Promise {
	switch {
	case p.AtLeast > 0:
		q.Set("resourceVersion", strconv.FormatUint(p.AtLeast, 10))
		q.Set("resourceVersionMatch", "NotOlderThan")
	case p.Exact > 0:
		q.Set("resourceVersion", strconv.FormatUint(p.Exact, 10))
		q.Set("resourceVersionMatch", "Exact")
	default:
		return history.Promise{Fresh: true}
	}
	return p
}

func listed(s scope, w wish) func(*reader, context.Context, string) error {
	return func(r *reader, ctx context.Context, name string) error {
		scope := s(r)
		q := query(scope)
		return r.list(ctx, name, scope, w(r, q), q)
	}
}

func paged(s scope, w wish, both bool) func(*reader, context.Context, string) error {
	return func(r *reader, ctx context.Context, name string) error {
		scope := s(r)
		q := query(scope)
		return r.pages(ctx, name, scope, w(r, q), q, func() *server {
			if both && r.rnd.IntN(2) == 0 {
				return r.apiserver
			}
			return r.sluice
		})
	}
}

func streamed(s scope, w wish) func(*reader, context.Context, string) error {
	return func(r *reader, ctx context.Context, name string) error {
		scope := s(r)
		q := query(scope)
		return r.stream(ctx, name, scope, w(r, q), q)
	}
}

func gotten(w wish) func(*reader, context.Context, string) error {
	return func(r *reader, ctx context.Context, name string) error {
		q := url.Values{}
		p := w(r, q)
		q.Del("resourceVersionMatch") // a get has none
		return r.get(ctx, name, p, q)
	}
}
