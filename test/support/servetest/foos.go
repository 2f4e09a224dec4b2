package servetest

import (
	"bytes"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/resources"
)

const smallBytes = 1 << 20 // a read of as much is small

// LargeFoos is foos with objects that are longer than a small read.
func LargeFoos(n int) *resources.CachedResource { return PaddedFoos(n, 2*smallBytes) }

// HugeFoos is foos with objects so long that a read of one takes longer than a second watch.
func HugeFoos(n int) *resources.CachedResource { return PaddedFoos(n, 26*smallBytes) }

// PaddedFoos is foos with objects that are longer by a number of bytes.
func PaddedFoos(n, padding int) *resources.CachedResource {
	c := Foos(n)
	var objects []*tree.Object
	for o := range c.Store.Snapshot().Objects(tree.Range{}) {
		objects = append(objects, &tree.Object{Key: o.Key, RV: o.RV, Data: append(bytes.Clone(o.Data), bytes.Repeat([]byte(" "), padding)...)})
	}
	c.Store = cache.New(cache.Options{}, objects, uint64(n)).Store
	return c
}
