package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/outcome"
	"sluice/test/support/servetest"
)

// prefixes are namespaces whose keys are in another order than their names.
var prefixes = []string{"a", "a-b", "a0", "a1", "ab", "b"}

func someObjects() (all []*tree.Object) {
	for i := range 300 {
		o := randomObject(i)
		o.Key = tree.KeyOf(prefixes[rand.N(len(prefixes))], o.Key.Name())
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b *tree.Object) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return all
}

func TestSelectionOfSomeNamespacesIsTheirUnion(t *testing.T) {
	index, found := 2, 0
	for range 200 {
		all, o := someObjects(), randomOptions()
		o.FieldSelector = strings.ReplaceAll(o.FieldSelector, "ns1", "a-b")
		state := cache.New(cache.Options{Index: &index}, all, 999).Snapshot()
		read := &request.Read{Verb: "list"}
		for _, ns := range prefixes {
			if rand.N(2) == 0 {
				read.Namespaces = append(read.Namespaces, ns)
			}
		}
		read.Namespaces = append([]string{"-none"}, read.Namespaces...)
		if rand.N(3) == 0 {
			read.Namespaces = prefixes[rand.N(len(prefixes)):][:1]
		}
		whole, err := selectionOf(t, &namespaced, "", o)
		if err != nil {
			t.Fatal(err)
		}
		s := selectionOfRead(t, read, o)
		visible := func(o *tree.Object) bool { return slices.Contains(read.Namespaces, o.Key.Namespace()) }
		want := slices.DeleteFunc(whole.objects(state, nil), func(o *tree.Object) bool { return !visible(o) })
		got := s.objects(state, tree.NewBudget(1<<20))
		if !slices.Equal(got, want) {
			t.Fatalf("%+v of %v: %d objects, want %d", o, read.Namespaces, len(got), len(want))
		}
		found += len(want)
		from := all[rand.N(len(all))].Key
		n, indexed := 0, 0
		for _, o := range all {
			if o.Key >= from && s.Keys.Contains(o.Key) && visible(o) {
				if n++; s.Indexed != nil && o.Fields[index] == *s.Indexed {
					indexed++
				}
			}
			if s.Filter.Match(o) && !visible(o) {
				t.Fatalf("%s matches %v", o.Key, read.Namespaces)
			}
		}
		if all, byIndex := s.Count(state, tree.Range{From: max(from, s.Keys.From), To: s.Keys.To}); all != n || byIndex != indexed {
			t.Errorf("counts %d and %d from %s on, want %d and %d", all, byIndex, from, n, indexed)
		}
	}
	if found == 0 {
		t.Error("nothing is ever selected")
	}
}

// selectionOfRead returns the selection of a read with the selectors of options.
func selectionOfRead(t *testing.T, read *request.Read, o *request.ListOptions) Selection {
	t.Helper()
	e := servetest.New(t, servetest.Foos(0))
	r := e.Request("/apis/ex.io/v1/foos", nil)
	query := request.From(r.Context()).Query
	query.Set("labelSelector", o.LabelSelector)
	query.Set("fieldSelector", o.FieldSelector)
	parsed, err := request.From(r.Context()).Read()
	if err != nil {
		t.Fatal(err)
	}
	parsed.Namespaces = read.Namespaces
	s, err := newSelection(&namespaced, podFields, parsed, o.ShardSelector)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A caller may have thousands of watches, and events of other namespaces must cost them nothing, as at the apiserver.
func TestWatchOfOneNamespaceAmongAllHasItsScope(t *testing.T) {
	for fieldSelector, want := range map[string]cache.Scope{
		"":                      {Namespace: "a"},
		"metadata.name=x":       {Key: tree.KeyOf("a", "x")},
		"metadata.namespace=b":  {Namespace: "a"},
		"metadata.namespace!=b": {Namespace: "a"},
	} {
		o := &request.ListOptions{}
		o.FieldSelector = fieldSelector
		s := selectionOfRead(t, &request.Read{Namespaces: []string{"a"}}, o)
		if s.Scope != want || s.Keys != want.Range() {
			t.Errorf("%s: scope %+v, keys %v", fieldSelector, s.Scope, s.Keys)
		}
		if s := selectionOfRead(t, &request.Read{Namespaces: []string{"a", "c"}}, o); s.Filter.Match(&tree.Object{Key: tree.KeyOf("b", "x")}) {
			t.Errorf("%s: another namespace matches", fieldSelector)
		}
	}
}

func TestNamespacesThemselvesAreSelectedByName(t *testing.T) {
	var all []*tree.Object
	for _, ns := range prefixes {
		all = append(all, &tree.Object{Key: tree.KeyOf("", ns)})
	}
	slices.SortFunc(all, func(a, b *tree.Object) int { return strings.Compare(string(a.Key), string(b.Key)) })
	read := &request.Read{Verb: "list", Namespaces: []string{"a", "a1"}}
	read.Version, read.Resource = "v1", "namespaces"
	s := Selection{some: read, Filter: &matcher{some: read}}
	var got []string
	for _, o := range s.objects(cache.New(cache.Options{}, all, 1).Snapshot(), nil) {
		got = append(got, string(o.Key))
	}
	if !slices.Equal(got, []string{"a", "a1"}) {
		t.Errorf("selects %v", got)
	}
}

// somewhere is a cached resource without objects of which the caller may read some namespaces.
func somewhere(t *testing.T, namespaced bool, some ...string) (*servetest.Env, Options) {
	c := *servetest.Foos(3)
	d := *c.Description
	d.Resource.Namespaced, c.Description = namespaced, &d
	e := servetest.New(t, &c)
	e.Access.Allowed, e.Access.Some = false, some
	return e, Options{Shown: NewShown()}
}

const foos = "/apis/ex.io/v1/foos"

func TestOnlyReadsOfNamespacedResourcesAreOfSomeNamespaces(t *testing.T) {
	e, o := somewhere(t, true, "ns")
	if p, err := planned(e, o, e.Request(foos, nil)); err != nil || !p.Some() || !p.OnlyHere() {
		t.Errorf("plan %+v, %v", p, err)
	}
	o.Strict = true
	if _, err := planned(e, o, e.Request(foos, nil)); err != outcome.NotAllowed {
		t.Errorf("strict: %v", err)
	}
	e, o = somewhere(t, false, "ns")
	p := &Plan{Query: Query{Read: &request.Read{Verb: "list"}}}
	o.Resources = e // without an Access, nobody is asked
	if err := o.authorizeSome(e.Request(foos, nil), p); err != outcome.NotAllowed {
		t.Errorf("a review for a resource without namespaces: %v", err)
	}
	if _, err := planned(e, o, e.Request(foos, nil)); err != outcome.NotAllowed {
		t.Errorf("a resource without namespaces: %v", err)
	}
	e.Missing = resources.Excluded
	if _, err := planned(e, o, e.Request(foos, nil)); err != outcome.Pass(resources.Excluded) {
		t.Errorf("an excluded resource: %v", err)
	}
}

func TestOtherValuesOfTheHeaderAreRefused(t *testing.T) {
	e, o := somewhere(t, true, "ns")
	for value, want := range map[string]bool{"allowed": false, "": true, "all": true, "Allowed": true} {
		header := http.Header{request.NamespacesHeader: {"allowed", value}}
		for _, path := range []string{foos, foos + "?watch=1"} {
			_, err := planned(e, o, e.Request(path, header))
			if _, refused := errors.AsType[*outcome.Refused](err); refused != want {
				t.Errorf("%q: %v", value, err)
			}
		}
		if _, err := planned(e, Options{Strict: true}, e.Request(foos, header)); err != outcome.NotAllowed {
			t.Errorf("strict, %q: %v", value, err)
		}
	}
}

// A client that goes on with a watch or a page knows the objects of the namespaces that its list has shown.
func TestWatchesAndPagesFollowAListOfTheSameNamespaces(t *testing.T) {
	watch := func(version int) string { return fmt.Sprintf("%s?watch=1&resourceVersion=%d", foos, version) }
	page := func(version int64) string {
		return foos + "?continue=" + servetest.Token(t, version, "/ns/f000001\x00")
	}
	all := []string{"all"} // the caller may read all namespaces
	ab, abc := []string{"a", "b"}, []string{"a", "b", "c"}
	type step struct {
		some []string
		path string
		at   uint64 // the version that the read shows
		ok   bool
	}
	for name, steps := range map[string][]step{
		"without a list":             {{ab, watch(3), 0, false}},
		"after a list":               {{ab, foos, 2, true}, {ab, watch(2), 0, true}, {ab, watch(3), 0, true}, {ab, page(2), 0, true}},
		"from before the list":       {{ab, foos, 2, true}, {ab, watch(1), 0, false}},
		"after a gain":               {{ab, foos, 2, true}, {abc, watch(2), 0, false}, {abc, page(2), 0, false}, {abc, foos, 3, true}, {abc, watch(3), 0, true}},
		"after a gain and back":      {{ab, foos, 1, true}, {abc, foos, 2, true}, {ab, foos, 3, true}, {ab, watch(1), 0, false}, {ab, watch(3), 0, true}},
		"after another list":         {{ab, foos, 2, true}, {ab, foos, 3, true}, {ab, watch(2), 0, true}},
		"after initial events":       {{ab, foos + "?watch=1&resourceVersion=0", 2, true}, {ab, watch(2), 0, true}, {abc, watch(2), 0, false}},
		"after a list of all":        {{all, foos, 2, true}, {ab, watch(2), 0, false}},
		"of all after a list":        {{ab, foos, 2, true}, {all, watch(2), 0, false}, {all, page(2), 0, false}, {all, foos, 3, true}, {all, watch(3), 0, true}},
		"of all, which nobody lists": {{all, foos, 2, true}, {all, watch(1), 0, true}, {all, page(1), 0, true}},
		"a page without a list":      {{ab, page(2), 0, true}, {ab, watch(2), 0, false}},
	} {
		t.Run(name, func(t *testing.T) {
			e, o := somewhere(t, true)
			for _, s := range steps {
				e.Access.Allowed, e.Access.Some = slices.Equal(s.some, all), s.some
				p, err := planned(e, o, e.Request(s.path, nil))
				refused, expired := errors.AsType[*outcome.Refused](err)
				if expired != !s.ok || expired && refused.Reason != outcome.VersionBeforeHistory {
					t.Fatalf("%v: %s: %v", s.some, s.path, err)
				}
				if s.at > 0 {
					p.ShownAt(s.at)
				}
			}
		})
	}
}

// The verdicts about lists and watches may differ for a moment, in which a caller gains a namespace.
func TestWatchKnowsWhichNamespacesItsClientHasListed(t *testing.T) {
	e, o := somewhere(t, true, "a", "b")
	for _, row := range []struct{ lists, want []string }{
		{[]string{"a", "b"}, nil}, {[]string{"a"}, []string{"a"}}, {[]string{"a", "b", "c"}, []string{"a", "b", "c"}},
	} {
		e.Access.Lists = row.lists
		l, err := planned(e, o, e.Request(foos, nil))
		if err != nil {
			t.Fatal(err)
		}
		l.ShownAt(2)
		w, err := planned(e, o, e.Request(foos+"?watch=1&resourceVersion=2", nil))
		if err != nil || !slices.Equal(w.Read.Namespaces, e.Access.Some) || !slices.Equal(w.Read.Listed, row.want) {
			t.Errorf("after a list of %v: a watch of %+v, %v", row.lists, w.Read, err)
		}
	}
}
