package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apifields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/proxy/request"
)

// testFields are the selectable fields of a resource; spec.nodeName is indexed.
type testFields []string

var podFields = testFields{"metadata.name", "metadata.namespace", "spec.nodeName", "status.phase"}

// Position implements selectableFields.
func (f testFields) Position(label string) (int, bool) {
	i := slices.Index(f, label)
	return i, i >= 0
}

// Indexed implements selectableFields.
func (testFields) Indexed(position int) bool { return position == 2 }

var namespaced, clusterScoped = codec.Resource{Namespaced: true}, codec.Resource{}

func TestSelectionUsesKeysAndIndex(t *testing.T) {
	const ns, name, node, phase = "metadata.namespace=", "metadata.name=", "spec.nodeName=", "status.phase="
	for _, row := range []struct {
		resource  *codec.Resource
		namespace string
		fields    string
		want      string
	}{
		{&namespaced, "", "", "all"},
		{&namespaced, "a", "", "namespace a"},
		{&clusterScoped, "", "", "all"},
		{&namespaced, "", ns + "a", "namespace a, narrowed"},
		{&namespaced, "", ns, "all"},
		{&namespaced, "b", ns + "a", "namespace b"}, // nothing matches
		{&clusterScoped, "", ns + "a", "all"},
		{&namespaced, "", name + "x", "all"},
		{&namespaced, "a", name + "x", "key a/x, narrowed"},
		{&namespaced, "", ns + "a," + name + "x", "key a/x, narrowed"},
		{&namespaced, "a", "metadata.name!=x", "namespace a"},
		{&clusterScoped, "", name + "x", "key x, narrowed"},
		{&clusterScoped, "", name, "all"},
		{&namespaced, "", node + "n", "all by index n"},
		{&namespaced, "a", node + "n", "namespace a by index n"},
		{&namespaced, "", "spec.nodeName!=n", "all"},
		{&namespaced, "", node, "all by index "},
		{&namespaced, "", phase + "Running," + node + "n", "all by index n"},
		{&namespaced, "", phase + "Running", "all"},
		{&namespaced, "a", name + "x," + node + "n", "key a/x, narrowed"},
	} {
		s, err := selectionOf(t, row.resource, row.namespace, &request.ListOptions{FieldSelector: row.fields})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.describe(); got != row.want {
			t.Errorf("%q of namespace %q: %s, want %s", row.fields, row.namespace, got, row.want)
		}
	}
}

// selectionOf returns the selection of a list.
func selectionOf(t *testing.T, r *codec.Resource, namespace string, o *request.ListOptions) (Selection, error) {
	t.Helper()
	query := url.Values{"labelSelector": {o.LabelSelector}, "fieldSelector": {o.FieldSelector}}
	path := "/apis/ex.io/v1/foos"
	if namespace != "" {
		path = "/apis/ex.io/v1/namespaces/" + namespace + "/foos"
	}
	info, err := request.Parse(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: path, RawQuery: query.Encode()}})
	if err != nil {
		t.Fatal(err)
	}
	read, err := info.Read()
	if err != nil {
		return Selection{}, err
	}
	return newSelection(r, podFields, read, o.ShardSelector)
}

// describe returns how the store finds the objects.
func (s *Selection) describe() string {
	text := "all"
	switch from, to := string(s.Keys.From), string(s.Keys.To); {
	case strings.HasSuffix(to, "\x00"):
		text = "key " + from
	case from != "":
		text = "namespace " + strings.TrimSuffix(from, "/")
	}
	if s.Indexed != nil {
		text += " by index " + *s.Indexed
	}
	if s.narrowed {
		text += ", narrowed"
	}
	return text
}

func TestSelectorsThatTheAPIServerRejectsFail(t *testing.T) {
	for _, o := range []request.ListOptions{
		{LabelSelector: "a==="}, {LabelSelector: "a in"}, {FieldSelector: "a"}, {FieldSelector: "a=b"}, {FieldSelector: "metadata.name=x,spec.other=y"},
	} {
		if _, err := selectionOf(t, &namespaced, "", &o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if _, err := selectionOf(t, &namespaced, "", &request.ListOptions{FieldSelector: "a=b"}); !errors.Is(err, errUnknownField) {
		t.Errorf("unknown field: %v", err)
	}
}

// randomObject returns a pod of few possible values, so that selectors match some of them.
func randomObject(i int) *tree.Object {
	return &tree.Object{
		Key: tree.KeyOf(fmt.Sprint("ns", i%3), fmt.Sprintf("o%03d", i)), RV: uint64(i + 1),
		Labels: []tree.Label{{Key: "a", Value: fmt.Sprint(rand.N(3))}, {Key: "b", Value: fmt.Sprint(rand.N(2))}}[:rand.N(3)],
		Fields: []string{"", "", fmt.Sprint("node", rand.N(3)), []string{"", "Running", "Pending"}[rand.N(3)]},
	}
}

func randomSelector(terms ...string) string {
	var chosen []string
	for _, term := range terms {
		if rand.N(3) == 0 {
			chosen = append(chosen, term)
		}
	}
	return strings.Join(chosen, ",")
}

// naive reports whether apimachinery selects an object.
func naive(t *testing.T, o *tree.Object, namespace string, options *request.ListOptions) bool {
	t.Helper()
	byLabels, err := labels.Parse(options.LabelSelector)
	if err != nil {
		t.Fatal(err)
	}
	byFields, err := apifields.ParseSelector(options.FieldSelector)
	if err != nil {
		t.Fatal(err)
	}
	of := labels.Set{}
	for _, l := range o.Labels {
		of[l.Key] = l.Value
	}
	values := apifields.Set{
		"metadata.name": o.Key.Name(), "metadata.namespace": o.Key.Namespace(), "spec.nodeName": o.Fields[2], "status.phase": o.Fields[3],
	}
	return (namespace == "" || namespace == o.Key.Namespace()) && byLabels.Matches(of) && byFields.Matches(values)
}

// objects returns the selected objects of a state.
func (s *Selection) objects(state *cache.Snapshot, budget *tree.Budget) (all []*tree.Object) {
	for run := range s.Runs(state, budget) {
		all = append(all, run.Objects()...)
	}
	return all
}

// A selector that matches nothing examines as many objects as one that matches all.
func TestOthersHaveTheirTurnWhileNothingIsSelected(t *testing.T) {
	var all []*tree.Object
	for i := range 999 {
		all = append(all, randomObject(i))
	}
	slices.SortFunc(all, func(a, b *tree.Object) int { return strings.Compare(string(a.Key), string(b.Key)) })
	state, budget := cache.New(cache.Options{}, all, 999).Snapshot(), tree.NewBudget(1<<20)
	for _, selector := range []string{"a=9", "a,a!=0,a!=1,a!=2"} {
		s, err := selectionOf(t, &namespaced, "", &request.ListOptions{LabelSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with indexes
			turns := 0
			for run := range s.Runs(state, budget) {
				turns++
				if run.Set != 0 {
					t.Errorf("%s selects %d objects", selector, run.Len())
				}
			}
			if turns < len(all)/64 {
				t.Errorf("%s: %d turns", selector, turns)
			}
		}
	}
}

func randomOptions() *request.ListOptions {
	return &request.ListOptions{
		LabelSelector: randomSelector("a=1", "a!=2", "a in (0,1)", "!b", "b", "b notin (1)"),
		FieldSelector: randomSelector("spec.nodeName=node1", "spec.nodeName!=node2", "metadata.namespace=ns1", "metadata.name=o004",
			"metadata.name!=o001", "status.phase=", "status.phase=Running"),
	}
}

func TestSelectionIsWhatApimachinerySelects(t *testing.T) {
	index, found, budget := 2, 0, tree.NewBudget(1<<20)
	for range 300 {
		var all []*tree.Object
		for i := range 60 {
			all = append(all, randomObject(i))
		}
		slices.SortFunc(all, func(a, b *tree.Object) int { return strings.Compare(string(a.Key), string(b.Key)) })
		state := cache.New(cache.Options{Index: &index}, all, 60).Snapshot()
		namespace, o := []string{"", "ns1"}[rand.N(2)], randomOptions()
		s, err := selectionOf(t, &namespaced, namespace, o)
		if err != nil {
			t.Fatal(err)
		}
		var want []*tree.Object
		for _, object := range all {
			if naive(t, object, namespace, o) {
				want = append(want, object)
			}
		}
		found += len(want)
		for _, budget := range []*tree.Budget{nil, budget, budget, budget} { // label indexes are made by the second
			if got := s.objects(state, budget); !slices.Equal(got, want) {
				t.Fatalf("%+v of %q: %d objects, want %d", o, namespace, len(got), len(want))
			}
		}
	}
	if found == 0 {
		t.Error("nothing is ever selected")
	}
}

// A watch in the scope of its selection gets the events that turn the state before into the state
// after, as far as they are selected.
func TestEventsOfASelectionLeadFromStateToState(t *testing.T) {
	index := 2
	for range 100 {
		store := cache.New(cache.Options{Index: &index}, nil, 1)
		namespace, o := []string{"", "ns1"}[rand.N(2)], randomOptions()
		s, err := selectionOf(t, &namespaced, namespace, o)
		if err != nil {
			t.Fatal(err)
		}
		cursor, err := store.Watch(s.Scope, 1)
		if err != nil {
			t.Fatal(err)
		}
		for version := uint64(2); version < 100; version++ {
			object, typ := randomObject(rand.N(12)), cache.Added
			object.RV = version
			if store.Snapshot().Get(object.Key) != nil {
				if typ = cache.Modified; rand.N(4) == 0 {
					typ = cache.Deleted
				}
			}
			if err := store.Apply(typ, object, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		seen := map[tree.Key]uint64{}
		events := make([]*cache.Event, 100)
		n, _, err := cursor.Next(events)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events[:n] {
			typ, selected := e.TypeFor(s.Filter)
			_, known := seen[e.Object.Key]
			switch {
			case !selected:
			case known == (typ == cache.Added):
				t.Fatalf("%+v: %v of %s", o, typ, e.Object.Key)
			case typ == cache.Deleted:
				delete(seen, e.Object.Key)
			default:
				seen[e.Object.Key] = e.RV
			}
		}
		want := map[tree.Key]uint64{}
		for _, object := range s.objects(store.Snapshot(), nil) {
			want[object.Key] = object.RV
		}
		if fmt.Sprint(seen) != fmt.Sprint(want) {
			t.Fatalf("%+v of %q: events lead to %v, want %v", o, namespace, seen, want)
		}
		cursor.Close()
	}
}

// A selector of 8 KB has 4,000 values: to look them up in the index of each segment of 100,000 objects took
// 0.4 s, and to match the objects takes 10 ms.
func TestLongSelectorsAreNotLookedUpInIndexes(t *testing.T) {
	many := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, ",")
	}
	for selector, same := range map[string]string{
		"a in (" + many(4000, "%d") + ")":                    "",
		"a in (" + many(4000, "%d") + "),b=c":                "b=c",
		"b=c,a in (" + many(maxTermValues, "%d") + ")":       "a in (" + many(maxTermValues, "%d") + ")", // requirements are sorted
		many(200, "k%03d=v"):                                 many(maxTermValues, "k%03d=v"),
		"b!=c,a in (" + many(maxTermValues, "v%02d") + "),d": "a in (" + many(maxTermValues, "v%02d") + ")",
	} {
		terms := func(text string) tree.Terms {
			parsed, err := labels.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			return (&matcher{labels: parsed}).terms()
		}
		if got, want := terms(selector), terms(same); !reflect.DeepEqual(got, want) {
			t.Errorf("%.40s: looks up %v, want %v", selector, got, want)
		}
	}
}
