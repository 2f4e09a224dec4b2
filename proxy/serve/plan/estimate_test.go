package plan

import (
	"bytes"
	"math"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/test/support/servetest"
)

// A read by the indexed field is as small as what it selects.
func TestReadByTheIndexedFieldIsAsSmallAsItsSelection(t *testing.T) {
	field := 0
	var objects []*tree.Object
	for i := range 1000 {
		o := servetest.Foo(i, uint64(i+1))
		objects = append(objects, &tree.Object{
			Key: o.Key, RV: o.RV, Fields: []string{[]string{"node", "other"}[min(i, 1)]}, Data: append(o.Data, bytes.Repeat([]byte(" "), 4<<10)...),
		})
	}
	state := cache.New(cache.Options{Index: &field}, objects, 1000).Snapshot()
	node := "node"
	for _, row := range []struct {
		selection Selection
		small     bool
	}{{Selection{}, false}, {Selection{Indexed: &node}, true}} {
		p := &Plan{Selection: row.selection}
		if c := p.estimate(state); c.Small != row.small {
			t.Errorf("%d bytes are small: %v", c.Bytes, c.Small)
		}
	}
}

// A read by labels or fields that matches little costs the apiserver a scan, not the length of all objects.
func TestASelectionIsAsSmallAsWhatMatchesOnceItIsIndexed(t *testing.T) {
	var objects []*tree.Object
	for i := range 10_000 {
		o := servetest.Foo(i, uint64(i+1))
		o.Labels, o.Fields = []tree.Label{{Key: "app", Value: strconv.Itoa(i / 1000)}}, []string{strconv.Itoa(i % 10)}
		objects = append(objects, o)
	}
	state := cache.New(cache.Options{}, objects, 10_000).Snapshot()
	all := (&Plan{}).estimate(state).Bytes
	for name, require := range map[string]func(*tree.Terms){
		"label": func(t *tree.Terms) { t.RequireLabel("app", "3") },
		"field": func(t *tree.Terms) { t.RequireField(0, "7") },
		"both":  func(t *tree.Terms) { t.RequireLabel("app", "3"); t.RequireField(0, "7") },
		"none":  func(t *tree.Terms) { t.RequireLabel("app", "absent") },
	} {
		p := &Plan{Indexes: tree.NewBudget(1 << 20)}
		require(&p.Selection.terms)
		want := map[string]int64{"label": all / 10, "field": all / 10, "both": all / 100, "none": 0}[name] + 10_000*scanBytes
		p.estimate(state) // the first read of a segment makes no index
		if bytes := p.estimate(state).Bytes; bytes < want*9/10 || bytes > want*11/10 {
			t.Errorf("%s: weighs %d bytes of %d, want %d", name, bytes, all, want)
		}
	}
}

// What a read costs is charged to the budget of proofs: less than nothing would fill it.
func TestNoLimitMakesTheSizeOfAReadOverflow(t *testing.T) {
	state := servetest.Foos(600).Store.Snapshot()
	whole, each := state.Bytes(), AverageBytes(state)
	for limit, want := range map[int64]int64{
		0: whole, 1: each, 599: 599 * each, 1000: whole, math.MaxInt64: whole, math.MaxInt64/each + 1: whole, math.MaxInt64/each*2 + 3: whole,
	} {
		p := &Plan{Query: Query{Options: request.ListOptions{Limit: limit}}}
		if got := p.estimate(state).Bytes; got != want {
			t.Errorf("limit %d: %d bytes of %d, want %d", limit, got, whole, want)
		}
	}
}

// progressing are Resources of which only the progress is asked.
type progressing struct {
	Resources
	bytes int64
}

// Progress implements Resources.
func (p progressing) Progress(schema.GroupVersionResource) resources.Progress {
	return resources.Progress{Bytes: p.bytes}
}

func TestAReadOfAStoreThatIsNotThereCostsWhatItMaySelect(t *testing.T) {
	for _, row := range []struct {
		url   string
		known int64 // bytes of the resource; 0 if they are not known
		want  int64
	}{
		{servetest.FooList, 0, unknownBytes},
		{servetest.FooList, 100 << 20, 100 << 20},
		{servetest.FooList + "?limit=500", 100 << 20, 500 * unknownObject},
		{servetest.FooList + "?limit=500", 1 << 20, 1 << 20},
		{servetest.FooList + "?labelSelector=a", 0, unknownBytes / partOfAll},
		{servetest.FooList + "?fieldSelector=metadata.name%3Da", 100 << 20, unknownObject},
		{"/apis/ex.io/v1/namespaces/ns/foos", 100 << 20, 100 << 20 / partOfAll},
	} {
		o := Options{Resources: progressing{bytes: row.known}}
		r := servetest.New(t, servetest.Foos(1)).Request(row.url, nil)
		p, err := o.Parse(r, request.From(r.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Estimate().Bytes; got != row.want {
			t.Errorf("%s of %d: %d, want %d", row.url, row.known, got, row.want)
		}
	}
}
