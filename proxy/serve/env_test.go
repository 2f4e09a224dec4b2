package serve

import (
	"fmt"
	"sync"
	"time"

	"sluice/cache"
	"sluice/codec"
	"sluice/proxy/resources"
)

// foos returns a cached custom resource with n objects at versions 1 to n.
func foos(n int) *resources.CachedResource {
	var objects []*cache.Object
	for i := range n {
		objects = append(objects, foo(i, uint64(i+1)))
	}
	return &resources.CachedResource{
		Encoders: new(sync.Map),
		Store:    cache.New(cache.Options{HistoryAge: time.Minute, HistoryBytes: 1 << 20}, objects, uint64(n)),
		Resource: codec.Resource{
			Group: "ex.io", Version: "v1", Resource: "foos", Kind: "Foo", ListKind: "FooList",
			Style: codec.Unstructured, Source: codec.JSON, Namespaced: true,
		},
	}
}

func foo(i int, version uint64) *cache.Object {
	name := fmt.Sprintf("f%06d", i)
	return &cache.Object{
		Key: cache.KeyOf("ns", name), RV: version,
		Data: fmt.Appendf(nil, `{"apiVersion":"ex.io/v1","kind":"Foo","metadata":{"name":%q,"namespace":"ns","resourceVersion":"%d"}}`, name, version),
	}
}
