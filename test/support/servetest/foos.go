package servetest

import (
	"bytes"
	"slices"
	"sync"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/resources"
)

const smallBytes = 1 << 20 // a read of as much is small

// LargeFoos is foos with objects that are longer than a small read.
func LargeFoos(n int) *resources.CachedResource { return PaddedFoos(n, 2*smallBytes) }

// HugeFoos is foos with objects so long that a read of one takes longer than a second watch.
func HugeFoos(n int) *resources.CachedResource { return PaddedFoos(n, 26*smallBytes) }

// padded are the objects of PaddedFoos by its arguments: those of HugeFoos have 78 MB.
var padded = struct {
	sync.Mutex
	objects map[[2]int][]*tree.Object
}{objects: map[[2]int][]*tree.Object{}}

// PaddedFoos is foos with objects that are longer by a number of bytes.
func PaddedFoos(n, padding int) *resources.CachedResource {
	padded.Lock()
	defer padded.Unlock()
	c, objects := Foos(n), padded.objects[[2]int{n, padding}]
	if objects == nil {
		for o := range c.Store.Snapshot().Objects(tree.Range{}) {
			objects = append(objects, &tree.Object{Key: o.Key, RV: o.RV, Data: append(bytes.Clone(o.Data), bytes.Repeat([]byte(" "), padding)...)})
		}
		padded.objects[[2]int{n, padding}] = objects
	}
	c.Store = cache.New(cache.Options{}, objects, uint64(n)).Store
	return c
}

// HalfOfUIDs is a shard selector.
const HalfOfUIDs = "shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')"

// BeforeHistory returns three foos whose history begins at version 50.
func BeforeHistory() *resources.CachedResource {
	c := Foos(3)
	c.Store = cache.New(cache.Options{}, slices.Collect(c.Store.Snapshot().Objects(tree.Range{})), 50).Store
	return c
}
