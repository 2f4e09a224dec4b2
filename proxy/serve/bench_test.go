package serve

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec"
	"sluice/codec/proto"
	"sluice/proxy/discovery"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/test/harness"
	"sluice/test/support/codectest"
	"sluice/test/support/servetest"
)

// podsOfAge returns cached pods that were created within a minute, the newest one at the given age.
func podsOfAge(b testing.TB, n int, age time.Duration) *resources.CachedResource {
	var objects []*tree.Object
	for i, p := range harness.Pods(n, "shop", 1) {
		p.ResourceVersion = fmt.Sprint(i + 1)
		p.CreationTimestamp = metav1.NewTime(time.Now().Add(-age - time.Minute*time.Duration(i*7919%n)/time.Duration(n)))
		raw, err := p.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		o := &tree.Object{Key: tree.KeyOf(p.Namespace, p.Name), RV: uint64(i + 1), Data: raw}
		for _, k := range slices.Sorted(maps.Keys(p.Labels)) {
			o.Labels = append(o.Labels, tree.Label{Key: k, Value: p.Labels[k]})
		}
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b *tree.Object) int { return cmp.Compare(a.Key, b.Key) })
	c := &resources.CachedResource{
		Encoders: new(sync.Map), Store: cache.New(cache.Options{}, objects, uint64(n)).Store,
		Description: &discovery.Description{Resource: codec.Resource{
			Version: "v1", Resource: "pods", Kind: "Pod", ListKind: "PodList", Source: codec.Protobuf, Namespaced: true,
		}},
	}
	c.Resource.Columns = codectest.PodColumns()
	return c
}

// BenchmarkTable lists 2,000 pods as a Table, as fast as it can.
func BenchmarkTable(b *testing.B) {
	for _, age := range []time.Duration{time.Minute, time.Hour, 5 * time.Hour, 3 * 24 * time.Hour} {
		c := podsOfAge(b, 2000, age)
		e := newEnv(b, c, Options{Encoded: tree.NewBudget(1 << 30)})
		for _, coding := range []string{"identity", "gzip", "zstd"} {
			b.Run(fmt.Sprintf("%v/%s", age, coding), func(b *testing.B) {
				list := func() {
					r := e.Request("/api/v1/pods?resourceVersion=0", http.Header{"Accept": {servetest.AsTable}, "Accept-Encoding": {coding}})
					if o := e.Do(&sink{header: http.Header{}}, r); o.Source != request.SourceCache {
						b.Fatal(o)
					}
				}
				list()
				b.ReportAllocs()
				for b.Loop() {
					list()
				}
			})
		}
	}
}

// scatteredPods returns pods on nodes by turns, of which those on the first have a label. The store
// is indexed by the node.
func scatteredPods(b testing.TB, pods, nodes int) *resources.CachedResource {
	c := podsOfAge(b, pods, 30*24*time.Hour)
	schema, _ := proto.Lookup("v1", "Pod")
	c.Fields = discovery.BuiltinFields("v1", "Pod", schema)
	index := c.Fields.Index()
	objects := slices.Collect(c.Store.Snapshot().Objects(tree.Range{}))
	for i, o := range objects {
		if i%nodes == 0 {
			o.Labels = append(o.Labels, tree.Label{Key: "z", Value: "scattered"})
		}
		o.Fields = make([]string, *index+1)
		o.Fields[*index] = fmt.Sprint("node", i%nodes)
	}
	c.Store = cache.New(cache.Options{Index: index}, objects, uint64(pods)).Store
	return c
}

// BenchmarkSelector lists those of 20,000 pods that have a label or are on a node, and as many pods without a
// selector.
func BenchmarkSelector(b *testing.B) {
	const pods, nodes = 20_000, 200
	c := scatteredPods(b, pods, nodes)
	e := newEnv(b, c, Options{Encoded: tree.NewBudget(1 << 30)})
	for _, bm := range []struct{ name, query string }{
		{"none", "resourceVersion=0&labelSelector=app%3Dabsent"},
		{"scattered", "resourceVersion=0&labelSelector=z%3Dscattered"},
		{"node", "resourceVersion=0&fieldSelector=spec.nodeName%3Dnode7"},
		{"unselected", fmt.Sprintf("resourceVersion=%d&resourceVersionMatch=Exact&limit=%d", pods, pods/nodes)},
	} {
		for shape, accept := range map[string]string{"json": "application/json", "table": servetest.AsTable} {
			for _, coding := range []string{"identity", "gzip"} {
				b.Run(bm.name+"/"+shape+"/"+coding, func(b *testing.B) {
					list := func() {
						r := e.Request("/api/v1/pods?"+bm.query, http.Header{"Accept": {accept}, "Accept-Encoding": {coding}})
						if o := e.Do(&sink{header: http.Header{}}, r); o.Source != request.SourceCache {
							b.Fatal(o)
						}
					}
					for range 3 { // until everything is memoized
						list()
					}
					b.ReportAllocs()
					for b.Loop() {
						list()
					}
				})
			}
		}
	}
}
